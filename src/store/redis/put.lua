-- Writes one row, if it still has the version that the caller has seen ('' for none).
-- KEYS[1] the row. ARGV: the last second at which to write, the second to expire, the row, the version.
-- The row begins with 4 octets of its version and 8 that are the write's own.
local now = tonumber(redis.call('TIME')[1])
if now > tonumber(ARGV[1]) then return -1 end
local held = redis.call('GETRANGE', KEYS[1], 0, 11)
-- A write that is sent twice is answered as it was the first time. It is done again, since WAIT speaks of
-- what its own connection has written.
if held ~= string.sub(ARGV[3], 1, 12) and string.sub(held, 1, 4) ~= ARGV[4] then return 0 end
if tonumber(ARGV[2]) > now then
    redis.call('SET', KEYS[1], ARGV[3], 'EXAT', ARGV[2])
else
    redis.call('SET', KEYS[1], ARGV[3])
end
return 1
