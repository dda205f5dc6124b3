-- Whether a key has this value. KEYS: key. ARGV: value. Gives 1 or 0. A script and not a GET, which a
-- cluster client may send to a replica, which may be behind.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return 1
end
return 0
