--- release in an if
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
else
  return 0
end
--- release without an else
--> releases, tells, done integer 1, not nil
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
--- release with an early return
--> releases, tells, done integer 1, not integer 0
-->   UNLINK KEYS[1]: compared with ARGV[1]
local holder = redis.call("get", KEYS[1])
if holder ~= ARGV[1] then return 0 end
return redis.call("unlink", KEYS[1])
--- release with the argument on the left
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
if ARGV[1] == redis.call('get', KEYS[1]) then redis.call('del', KEYS[1]) return 1 end
return 0
--- release with not
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
if not (redis.call('GET', KEYS[1]) == ARGV[1]) then return 0 end
return redis.call('DEL', KEYS[1])
--- release that tells gone from taken
--> releases, tells, done integer 1, not integer -1 or integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local v = redis.call("GET", KEYS[1])
if v == ARGV[1] then
  return redis.call("DEL", KEYS[1])
elseif v == false then
  return -1
else
  return 0
end
--- release through aliases
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local call = redis.call
local key, token = KEYS[1], ARGV[1]
local cur = call("GET", key)
if cur and cur == token then
  return call("DEL", key)
end
return 0
--- release through an alias of redis
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local r = redis
if r.call("GET", KEYS[1]) == ARGV[1] then return r.call("DEL", KEYS[1]) end
return 0
--- release with a flag
--> releases, tells, done integer 1, not nil
-->   DEL KEYS[1]: compared with ARGV[1]
local mine = redis.call("GET", KEYS[1]) == ARGV[1]
if mine then redis.call("DEL", KEYS[1]) end
return mine
--- release with and
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
return redis.call("GET", KEYS[1]) == ARGV[1] and redis.call("DEL", KEYS[1]) or 0
--- release with a function of its own
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local function owned(k, t) return redis.call("GET", k) == t end
local function free(k) return redis.call("DEL", k) end
if owned(KEYS[1], ARGV[1]) then return free(KEYS[1]) end
return 0
--- release with tostring
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] or absent
if tostring(redis.call("GET", KEYS[1])) == tostring(ARGV[1]) then return redis.call("DEL", KEYS[1]) end
return 0
--- release with pcall
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local got = redis.pcall("GET", KEYS[1])
if got == ARGV[1] then
  local n = redis.pcall("DEL", KEYS[1])
  return n
end
return 0
--- release that answers true or false
--> releases, tells, done integer 1, not nil
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("DEL", KEYS[1])
  return true
end
return false
--- release that answers a status
--> releases, tells, done status RELEASED, not error
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("DEL", KEYS[1])
  return redis.status_reply("RELEASED")
end
return redis.error_reply("NOTMINE")
--- release that answers strings
--> releases, tells, done string released, not string held by another
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return "held by another" end
redis.call("DEL", KEYS[1])
return "released"
--- release that answers lists
--> releases, tells, done array 1, not array 0
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("DEL", KEYS[1])
  return {1, ARGV[1]}
end
return {0, redis.call("PTTL", KEYS[1])}
--- release whose answer says nothing
--> releases, done integer 1, not integer 1
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("DEL", KEYS[1])
end
return 1
--- release that answers nothing
--> releases, done nil, not nil
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("DEL", KEYS[1])
end
--- release that wakes waiters
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  local n = redis.call("DEL", KEYS[1])
  redis.call("PUBLISH", "freed:" .. KEYS[1], ARGV[1])
  return n
end
return 0
--- release by a prefix
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
local v = redis.call("GET", KEYS[1])
if v and string.sub(v, 1, #ARGV[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0
--- release by a method of strings
--> releases, tells, done integer 1, not integer -1 or integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
local v = redis.call("GET", KEYS[1])
if not v then return -1 end
if v:sub(1, string.len(ARGV[1])) ~= ARGV[1] then return 0 end
return redis.call("DEL", KEYS[1])
--- release by find
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
local v = redis.call("GET", KEYS[1])
if v and string.find(v, ARGV[1], 1, true) then
  return redis.call("DEL", KEYS[1])
end
return 0
--- release by a field of JSON
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
--@ json
local raw = redis.call("GET", KEYS[1])
if not raw then return 0 end
local doc = cjson.decode(raw)
if doc.token == ARGV[1] then
  redis.call("DEL", KEYS[1])
  return 1
end
return 0
--- release by a field of JSON in one condition
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
--@ json
local raw = redis.call("GET", KEYS[1])
if raw and cjson.decode(raw)["token"] == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
--- release by a field of JSON with pcall
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
--@ json
local raw = redis.call("GET", KEYS[1])
if raw then
  local ok, doc = pcall(cjson.decode, raw)
  if ok and doc.token == ARGV[1] then return redis.call("DEL", KEYS[1]) end
end
return 0
--- release by GETRANGE
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
if redis.call("GETRANGE", KEYS[1], 0, string.len(ARGV[1]) - 1) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0
--- release by a field of a hash
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1] in part
--@ hash owner
if redis.call("HGET", KEYS[1], "owner") == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
--- release of a key made in the script
--> releases, tells, done integer 1, not integer 0
-->   DEL <KEYS[1].."">: compared with ARGV[1]
local k = KEYS[1] .. ""
if redis.call("GET", k) == ARGV[1] then return redis.call("DEL", k) end
return 0
--- release with the name of the command in a variable
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local verb = "del"
if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call(string.upper(verb), KEYS[1]) end
return 0
--- release with a table of arguments
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local cmd = {"DEL", KEYS[1]}
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call(unpack(cmd)) end
return 0
--- release of every key after a look at each
--> releases, several, tells, done integer 1, not integer 0
-->   DEL KEYS[*]: compared with ARGV[1]
local held = redis.call("MGET", unpack(KEYS))
for i, _ in ipairs(KEYS) do
  if held[i] ~= ARGV[1] then return 0 end
end
redis.call("DEL", unpack(KEYS))
return 1
--- release of each key that is ours
--> releases, several, done integer, not integer
-->   DEL KEYS[*]: compared with ARGV[1]
local n = 0
for i = 1, #KEYS do
  if redis.call("GET", KEYS[i]) == ARGV[1] then
    n = n + redis.call("DEL", KEYS[i])
  end
end
return n
--- release with a flag over keys
--> releases, several, tells, done integer 1, not integer 0
-->   DEL KEYS[*]: compared with ARGV[1]
local ours = true
for _, k in ipairs(KEYS) do
  if redis.call("GET", k) ~= ARGV[1] then ours = false end
end
if not ours then return 0 end
for i = 1, #KEYS do redis.call("DEL", KEYS[i]) end
return 1
--- release of two keys by the first
--> releases, several, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
-->   DEL KEYS[2]: other key
if redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("DEL", KEYS[1])
  redis.call("DEL", KEYS[2])
  return 1
end
return 0
--- release of two keys by name
--> releases, several, tells, done integer >0, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
-->   DEL KEYS[2]: other key
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1], KEYS[2]) end
return 0
--- release by counting keys
--> several, tells, done integer >0, not integer 0
-->   DEL KEYS[*]: examined or absent
local n = 0
for i = 1, #KEYS do
  if redis.call("GET", KEYS[i]) == ARGV[1] then n = n + 1 end
end
if n == #KEYS then return redis.call("DEL", unpack(KEYS)) end
return 0
--- release of a re-entrant hash
--> releases, renews, tells, done integer 0 or integer 1, not nil
-->   HINCRBY KEYS[1] ARGV[1] "-1": compared with ARGV[1] in part
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: compared with ARGV[1] in part
-->   DEL KEYS[1]: compared with ARGV[1] in part
--@ hash
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end
local left = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if left > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[1] .. ':free', ARGV[1])
return 1
--- release of a hash's field
--> releases, tells, done integer 1, not integer 0
-->   HDEL KEYS[1] ARGV[1]: compared with ARGV[1] in part
--@ hash
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return 1
end
return 0
--- release of a re-entrant hash by HGET
--> releases, tells, done integer 1, not integer 0
-->   HINCRBY KEYS[1] ARGV[1] "-1": compared with ARGV[1] in part
-->   DEL KEYS[1]: compared with ARGV[1] in part
--@ hash
local depth = redis.call('HGET', KEYS[1], ARGV[1])
if not depth then return 0 end
if tonumber(depth) > 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
else
  redis.call('DEL', KEYS[1])
end
return 1
--- release by server
--@ valkey
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
if server.call("GET", KEYS[1]) == ARGV[1] then return server.call("DEL", KEYS[1]) end
return 0
--- release behind a nil default
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ?ARGV[1] or 
local want = ARGV[1] or ''
if redis.call('GET', KEYS[1]) == want then return redis.call('DEL', KEYS[1]) end
return 0
--- release or nothing there
--> releases, done integer 1, not integer 0 or integer 1
-->   DEL KEYS[1]: compared with ARGV[1] or absent
local v = redis.call('GET', KEYS[1])
if v and v ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
--- release by a constant
--@ constant
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with "locked"
if redis.call('GET', KEYS[1]) == 'locked' then return redis.call('DEL', KEYS[1]) end
return 0
--- release by an expiry of 0
--> releases, tells, done integer 1, not integer 0
-->   PEXPIRE KEYS[1]: compared with ARGV[1]
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], 0) end
return 0
--- renewal in an if
--> renews, tells, done integer 1, not integer 0
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
else
  return 0
end
--- renewal with an early return
--> renews, tells, done integer 1, not integer 0
-->   EXPIRE KEYS[1] ARGV[2] 1s: compared with ARGV[1]
local v = redis.call("GET", KEYS[1])
if v == false or v ~= ARGV[1] then return 0 end
redis.call("EXPIRE", KEYS[1], tonumber(ARGV[2]))
return 1
--- renewal by SET
--> renews, tells, done status OK, not nil
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
end
return false
--- renewal with a constant
--> renews, tells, done integer 1, not integer 0
-->   EXPIRE KEYS[1] "30" 1s: compared with ARGV[1]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("EXPIRE", KEYS[1], 30)
--- renewal with a computed expiry
--> renews, tells, done integer 1, not integer 0
-->   PEXPIRE KEYS[1] <(ARGV[2]*1000)> 1ms: compared with ARGV[1]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2] * 1000)
end
return 0
--- renewal of a hash
--> renews, tells, done integer 1, not integer 0
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: compared with ARGV[1] in part
--@ hash
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0
--- renewal of every key
--> renews, several, done nil or integer 1, not nil
-->   PEXPIRE KEYS[*] ARGV[2] 1ms: compared with ARGV[1]
for _, k in ipairs(KEYS) do
  if redis.call("GET", k) ~= ARGV[1] then return false end
end
local n = 0
for _, k in ipairs(KEYS) do
  n = n + redis.call("PEXPIRE", k, ARGV[2])
end
return n == #KEYS
--- renewal or acquire
--> renews, acquires, tells, done integer 1, not integer 0
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: compared with ARGV[1]
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then
  return 1
else
  return 0
end
--- acquire by SET NX
--> acquires, tells, done status OK, not nil
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
--- acquire by SET with options in another order
--> acquires, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
if redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2], "nx") then return 1 end
return 0
--- acquire without expiry
--> acquires, without expiry, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1]: absent
if redis.call("SET", KEYS[1], ARGV[1], "NX") then return 1 end
return 0
--- acquire by SETNX and PEXPIRE
--> acquires, tells, done integer 1, not integer 0
-->   SETNX KEYS[1] ARGV[1]: absent
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
if redis.call("SETNX", KEYS[1], ARGV[1]) == 1 then
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
  return 1
end
return 0
--- acquire by EXISTS and SET
--> acquires, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
if redis.call("EXISTS", KEYS[1]) == 0 then
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
  return 1
end
return 0
--- acquire by GET and SETEX
--> acquires, tells, done integer 1, not nil
-->   PSETEX KEYS[1] ARGV[1] ARGV[2] 1ms: absent
if redis.call("GET", KEYS[1]) then return false end
redis.call("PSETEX", KEYS[1], ARGV[2], ARGV[1])
return true
--- acquire or enter again
--> renews, acquires, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: compared with ARGV[1] or absent
local v = redis.call("GET", KEYS[1])
if not v or v == ARGV[1] then
  redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
  return 1
end
return 0
--- acquire of a re-entrant hash
--> renews, acquires, tells, done nil, not integer
-->   HINCRBY KEYS[1] ARGV[1] "1": compared with ARGV[1] in part
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: compared with ARGV[1] in part
-->   HSET KEYS[1] ARGV[1] "1": absent
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
--@ hash
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return nil
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return nil
end
return redis.call('pttl', KEYS[1])
--- acquire of a re-entrant hash in one condition
--> acquires, tells, done integer 1, not integer 0
-->   HINCRBY KEYS[1] ARGV[1] "1": compared with ARGV[1] in part or absent
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
--@ hash
if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[1]) == 1) then
  redis.call('hincrby', KEYS[1], ARGV[1], 1);
  redis.call('pexpire', KEYS[1], ARGV[2]);
  return 1;
end;
return 0;
--- acquire of every key
--> acquires, several, tells, done status OK, not nil
-->   MSETNX KEYS[*] ARGV[1]: absent
-->   PEXPIRE KEYS[*] ARGV[2] 1ms: own
local args = {}
for _, k in ipairs(KEYS) do
  table.insert(args, k)
  table.insert(args, ARGV[1])
end
if redis.call("MSETNX", unpack(args)) ~= 1 then return false end
for _, k in ipairs(KEYS) do redis.call("PEXPIRE", k, ARGV[2]) end
return redis.status_reply("OK")
--- acquire whose expiry an argument chooses
--> acquires, tells, done integer 1, not integer 0
-->   SETNX KEYS[1] ARGV[1]: absent
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
local ttl = tonumber(ARGV[2])
if redis.call("SETNX", KEYS[1], ARGV[1]) == 0 then return 0 end
if ttl > 0 then redis.call("PEXPIRE", KEYS[1], ttl) end
return 1
--- acquire that answers the time left
--> acquires, tells, done nil, not integer
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return nil end
return redis.call("PTTL", KEYS[1])
--- acquire with a fencing number
--> acquires, several, done integer, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
-->   INCR <KEYS[1]..":fence">: blind
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return redis.call("INCR", KEYS[1] .. ":fence")
end
return 0
--- acquire undone when the second key is taken
--> acquires, several, done integer 0 or integer 1, not integer 0
-->   SETNX KEYS[1] ARGV[1]: absent
-->   SETNX KEYS[2] ARGV[1]: absent
-->   DEL KEYS[1]: own
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
-->   PEXPIRE KEYS[2] ARGV[2] 1ms: own
if redis.call("SETNX", KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call("SETNX", KEYS[2], ARGV[1]) == 0 then
  redis.call("DEL", KEYS[1])
  return 0
end
redis.call("PEXPIRE", KEYS[1], ARGV[2])
redis.call("PEXPIRE", KEYS[2], ARGV[2])
return 1
--- wrong: blind delete
--> blind delete, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: blind
return redis.call("DEL", KEYS[1])
--- wrong: blind delete where the key exists
--> blind delete, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: blind
if redis.call("EXISTS", KEYS[1]) == 1 then
  redis.call("DEL", KEYS[1])
  return 1
end
return 0
--- wrong: blind delete of any holder
--> blind delete, tells, done string, not nil
-->   DEL KEYS[1]: blind
local v = redis.call("GET", KEYS[1])
if v then redis.call("DEL", KEYS[1]) end
return v
--- wrong: another key is compared
--> blind delete, several, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: other key
if redis.call("GET", KEYS[2]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0
--- wrong: delete before the comparison
--> blind delete, done integer 0 or integer 1, not integer 0
-->   DEL KEYS[1]: blind or absent
local v = redis.call("GET", KEYS[1])
redis.call("DEL", KEYS[1])
if v == ARGV[1] then return 1 end
return 0
--- wrong: GETDEL before the comparison
--> blind delete, done integer 0 or integer 1, not integer 0
-->   GETDEL KEYS[1]: blind
if redis.call("GETDEL", KEYS[1]) == ARGV[1] then return 1 end
return 0
--- wrong: delete where the token differs
--> blind delete, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: blind or absent
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0
--- compared unless an argument says otherwise
--> done integer 1, not integer 0 or integer 1
-->   DEL KEYS[1]: chosen
if ARGV[2] ~= "5000" then
  if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
end
redis.call("DEL", KEYS[1])
return 1
--- wrong: expiry is compared instead of the value
--> blind expire, tells, done integer 1, not integer 0
-->   EXPIRE KEYS[1] "60" 1s: blind
if redis.call("TTL", KEYS[1]) > 0 then return redis.call("EXPIRE", KEYS[1], 60) end
return 0
--- wrong: blind renewal
--> blind expire, tells, done integer 1, not integer 0
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: blind
return redis.call("PEXPIRE", KEYS[1], ARGV[2])
--- wrong: blind renewal where the key exists
--> blind expire, tells, done integer 1, not integer 0
-->   EXPIRE KEYS[1] "60" 1s: blind
if redis.call("EXISTS", KEYS[1]) == 1 then return redis.call("EXPIRE", KEYS[1], 60) end
return 0
--- wrong: acquire and expiry whoever has it
--> blind expire, acquires, done integer 1, not never
-->   SETNX KEYS[1] ARGV[1]: absent
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: blind
redis.call("SETNX", KEYS[1], ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return 1
--- wrong: overwritten
--> blind set, done integer 1, not never
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: blind
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1
--- wrong: looks at EXISTS as a condition, which is always true
--> done never, not integer 0
if redis.call("EXISTS", KEYS[1]) then return 0 end
redis.call("SET", KEYS[1], ARGV[1])
return 1
--- wrong: compares a status with a string
--> acquires, done integer 0, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) == "OK" then return 1 end
return 0
--- wrong: deletes every key with a look at the first
--> blind delete, several, done integer 1, not integer 0 or integer 1
-->   DEL KEYS[*]: other key
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
for _, k in ipairs(KEYS) do redis.call("DEL", k) end
return 1
--- forced by an argument
--> tells, done integer 1, not integer 0
-->   DEL KEYS[1]: chosen
if ARGV[2] == "force" or redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0
--- compared as a number
--> tells, done integer 1, not integer 0
-->   DEL KEYS[1]: examined
local v = redis.call("GET", KEYS[1])
if v and tonumber(v) and tonumber(v) < tonumber(ARGV[2]) then return redis.call("DEL", KEYS[1]) end
return 0
--- a rate limit
--@ none
--> done integer, not never
-->   INCR KEYS[1]: blind
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
local n = redis.call("INCR", KEYS[1])
if n == 1 then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
return n
--- a semaphore
--@ none
--> done integer 0 or integer 1, not never
-->   ZREMRANGEBYSCORE KEYS[1]: blind
-->   ZADD KEYS[1]: own
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[2])
if redis.call('zcard', KEYS[1]) < 5 then
  redis.call('zadd', KEYS[1], 1, ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0
--- a loop that ends by itself
--> tells, done integer 1, not integer 0
-->   DEL KEYS[1]: examined
local i = 0
while i < 3 do
  if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
  i = i + 1
end
return redis.call("DEL", KEYS[1])
--- only reads
--> done never, not nil or string
return redis.call("GET", KEYS[1])
--- not understood: nothing but a comment
--> unknown: no statement
-- if redis.call("GET", KEYS[1]) == ARGV[1]
--- not understood: arguments from a list
--> unknown: a command whose name is not constant
return redis.call(unpack(ARGV))
--- not understood: the command is an argument
--> unknown: a command whose name is not constant
return redis.call(ARGV[1], KEYS[1])
--- not understood: options from arguments
--> unknown: the options of SET
return redis.call("SET", KEYS[1], ARGV[1], ARGV[2], ARGV[3])
--- not understood: an unknown command
--> unknown: the command JSON.DEL
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("JSON.DEL", KEYS[1]) end
return 0
--- not understood: an unknown function
--> unknown: the variable owned
if owned(KEYS[1]) then return redis.call("DEL", KEYS[1]) end
return 0
--- not understood: no Lua
--> unknown: no Lua: script line:1(column:49) near 'return':
if redis.call("GET", KEYS[1]) == ARGV[1] { return 1 }
--- not understood: a function that calls itself
--> unknown: a function that calls itself
local function f() return f() end
return f()
--- not understood: RENAME
--> unknown: the command RENAME
return redis.call("RENAME", KEYS[1], KEYS[2])
--- not understood: a function handed on
--> unknown: a function handed to table.sort
table.sort(KEYS, function(a, b) return a < b end)
return redis.call("DEL", KEYS[1])
--- newer: DELIFEQ
--> releases, tells, done integer 1, not integer 0
-->   DELIFEQ KEYS[1]: compared with ARGV[1]
--@ newer
return redis.call("DELIFEQ", KEYS[1], ARGV[1])
--- newer: DELEX with IFEQ
--> releases, tells, done integer 1, not integer 0
-->   DELEX KEYS[1]: compared with ARGV[1]
--@ newer
return redis.call("DELEX", KEYS[1], "IFEQ", ARGV[1])
--- newer: SET with IFEQ
--> renews, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: compared with ARGV[1]
--@ newer
if redis.call("SET", KEYS[1], ARGV[1], "IFEQ", ARGV[1], "PX", ARGV[2]) then return 1 end
return 0
--- release in a function that returns early
--> releases, tells, done integer 1, not integer -1 or integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local function release(key, token)
  local v = redis.call("GET", key)
  if not v then return -1 end
  if v ~= token then return 0 end
  redis.call("DEL", key)
  return 1
end
return release(KEYS[1], ARGV[1])
--- release in a function that sees the outer variables
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local key, n = KEYS[1], 0
local function drop() n = redis.call("DEL", key) end
if redis.call("GET", key) == ARGV[1] then drop() end
return n
--- release with assert
--> releases, tells, done integer 1, not error
-->   DEL KEYS[1]: compared with ARGV[1]
assert(redis.call("GET", KEYS[1]) == ARGV[1], "not the holder")
return redis.call("DEL", KEYS[1])
--- release with error
--> releases, tells, done string OK, not error
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then error("not the holder") end
redis.call("DEL", KEYS[1])
return "OK"
--- release with a table that errs
--> releases, tells, done status done, not error
-->   DEL KEYS[1]: compared with ARGV[1]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return {err = "not the holder"} end
redis.call("DEL", KEYS[1])
return {ok = "done"}
--- release in nested conditions
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local v = redis.call("GET", KEYS[1])
if v then
  if v == ARGV[1] then
    do
      redis.call("DEL", KEYS[1])
    end
    return 1
  end
end
return 0
--- release by the token of a made string
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ?"lock:"..ARGV[1] or ARGV[1]
local token = "lock:" .. ARGV[1]
if redis.call("GET", KEYS[1]) == token or redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0
--- release with commented code and semicolons
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
--[[ redis.call("DEL", KEYS[1]) ]]
local v = redis.call("GET", KEYS[1]); -- who has it
if (v == ARGV[1]) then
  return redis.call("DEL", KEYS[1]);
end;
return 0;
--- release with repeat
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
repeat
  if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call("DEL", KEYS[1])
until true
return 1
--- release of the first key of a list in a table
--> releases, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
local held = {lock = KEYS[1], token = ARGV[1]}
if redis.call("GET", held.lock) == held.token then return redis.call("DEL", held.lock) end
return 0
--- release of exactly two keys in a loop
--> releases, several, tells, done integer 2, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
-->   DEL KEYS[2]: compared with ARGV[1]
for i = 1, 2 do
  if redis.call("GET", KEYS[i]) ~= ARGV[1] then return 0 end
end
return redis.call("DEL", KEYS[1], KEYS[2])
--- release and renewal by an argument
--> releases, renews, tells, done integer 1, not integer 0
-->   DEL KEYS[1]: compared with ARGV[1]
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: compared with ARGV[1]
local v = redis.call("GET", KEYS[1])
if v ~= ARGV[1] then return 0 end
if ARGV[2] == "5000" then return redis.call("DEL", KEYS[1]) end
return redis.call("PEXPIRE", KEYS[1], ARGV[2])
--- acquire with the unit as an argument
--> acquires, tells, done status OK, not nil
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
local unit = "PX"
return redis.call("SET", KEYS[1], ARGV[1], "NX", unit, ARGV[2])
--- acquire with GET
--> acquires, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
local old = redis.call("SET", KEYS[1], ARGV[1], "NX", "GET", "PX", ARGV[2])
if old == false then return 1 end
return 0
--- acquire by HSETNX
--> acquires, tells, done integer 1, not integer 0
-->   HSETNX KEYS[1] "owner" ARGV[1]: absent
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
--@ hash owner
if redis.call("HSETNX", KEYS[1], "owner", ARGV[1]) == 0 then return 0 end
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return 1
--- acquire that enters again by its token
--> acquires, tells, done integer 1, not integer 0
-->   SETNX KEYS[1] ARGV[1]: absent
-->   PEXPIRE KEYS[1] ARGV[2] 1ms: own
if redis.call("SETNX", KEYS[1], ARGV[1]) == 1 or redis.call("GET", KEYS[1]) == ARGV[1] then
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
  return 1
end
return 0
--- acquire whose expiry is taken away
--> acquires, without expiry, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: absent
-->   PERSIST KEYS[1]: own
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  redis.call("PERSIST", KEYS[1])
  return 1
end
return 0
--- acquire with a default expiry
--> acquires, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ?ARGV[3] or 30000 or 30000 1ms: absent
local ms = tonumber(ARGV[3]) or 30000
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ms) then return 1 else return 0 end
--- wrong: GETSET overwrites
--> blind set, done integer 0 or integer 1, not never
-->   GETSET KEYS[1] ARGV[1]: blind
local old = redis.call("GETSET", KEYS[1], ARGV[1])
if old == ARGV[1] or not old then return 1 end
return 0
--- wrong: SET XX renews whoever holds it
--> blind expire, tells, done integer 1, not integer 0
-->   SET KEYS[1] ARGV[1] ARGV[2] 1ms: blind
if redis.call("SET", KEYS[1], ARGV[1], "XX", "PX", ARGV[2]) then return 1 end
return 0
--- wrong: compares nil with what is false
--> blind delete, done integer 1, not integer 1
-->   DEL KEYS[1]: blind or absent
local v = redis.call("GET", KEYS[1])
if v == nil then return 0 end
redis.call("DEL", KEYS[1])
return 1
--- wrong: releases where nobody else can see a token
--> blind delete, several, done integer, not integer
-->   DEL KEYS[*]: blind
local n = 0
for _, k in ipairs(KEYS) do n = n + redis.call("DEL", k) end
return n
--- wrong: GETEX renews before the comparison
--> blind expire, done integer 0 or integer 1, not integer 0
-->   GETEX KEYS[1] ARGV[2] 1ms: blind
if redis.call("GETEX", KEYS[1], "PX", ARGV[2]) == ARGV[1] then return 1 end
return 0
--- not understood: a library of functions
--> unknown: the function redis.register_function
redis.register_function("release", function(keys, args) return redis.call("DEL", keys[1]) end)
--- not understood: everything is deleted
--> unknown: the command FLUSHDB
redis.call("FLUSHDB")
return 1
--- not understood: KEYS is changed
--> unknown: an assignment into KEYS
KEYS[1] = ARGV[1]
return redis.call("DEL", KEYS[1])
