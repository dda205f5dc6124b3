-- Takes the lock for a token, never without an expiry.
-- KEYS: lock, and with fencing its counter. ARGV: token, TTL in milliseconds.
-- Gives {1, fencing token or 0}, or {0, PTTL of who holds it}.
if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  if not KEYS[2] then
    return {1, 0}
  end
  local fence = redis.call('INCR', KEYS[2])
  if fence == 1 then
    -- A counter that is new, or that the server lost, starts from the clock in microseconds: above all
    -- that were given before, as long as they were fewer than a million a second.
    local now = redis.call('TIME')
    fence = redis.call('INCRBY', KEYS[2], now[1] .. string.format('%06d', now[2]))
  end
  return {1, fence}
end
-- Our own token: an earlier try was granted and its reply lost. Nobody took the lock since, so that
-- the counter is still what it was given.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  if not KEYS[2] then
    return {1, 0}
  end
  return {1, tonumber(redis.call('GET', KEYS[2])) or 0}
end
return {0, redis.call('PTTL', KEYS[1])}
