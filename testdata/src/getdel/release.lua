-- frees the lock KEYS[1] of the holder ARGV[1]
local holder = redis.call('GET', KEYS[1])
if not holder or holder ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
