-- Writes one row again as it is, if it has this version, record and parts, so that WAIT covers it.
-- KEYS[1] the row. ARGV: the version, the record with its length before it; for a hash also 'hash', then of
-- each part to compare: name, 'put' or 'clear', bytes. See put.lua; the record follows the first 16 bytes of a row. The
-- number of the write stays, so that a second attempt of its caller is still recognized.
local is_hash = ARGV[3] == 'hash'
local held
if is_hash then held = redis.call('HGET', KEYS[1], 'record') else held = redis.call('GET', KEYS[1]) end
if not held or string.sub(held, 1, 4) ~= ARGV[1] then return 0 end
if string.sub(held, 17, 16 + #ARGV[2]) ~= ARGV[2] then return 0 end
for part = 4, #ARGV, 3 do
    local bytes = redis.call('HGET', KEYS[1], ARGV[part])
    if bytes ~= (ARGV[part + 1] == 'put' and ARGV[part + 2]) then return 0 end
end
if is_hash then
    redis.call('HSET', KEYS[1], 'record', held)
else
    redis.call('SET', KEYS[1], held, 'KEEPTTL')
end
return 1
