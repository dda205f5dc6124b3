-- Frees a tool: KEYS[1] is its lock, ARGV[1] the token it was taken with.
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0
