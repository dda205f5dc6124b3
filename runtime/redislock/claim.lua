-- Remembers for a while that something ran. KEYS: marker. ARGV: token, milliseconds.
-- Gives 1 when it was not remembered before, also to a try whose reply was lost; otherwise 0.
if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  return 1
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return 1
end
return 0
