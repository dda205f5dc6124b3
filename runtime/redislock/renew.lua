-- Sets the time to live of a key that has this value. KEYS: key. ARGV: value, milliseconds.
-- Gives 1, or 0 when it has not.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
