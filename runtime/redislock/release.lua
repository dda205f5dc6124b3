-- Deletes a key that has this value. KEYS: key. ARGV: value. Gives 1, or 0 when it has not.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
