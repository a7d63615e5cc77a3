-- Writes one row, if it still has the version that the caller has read ('' for none).
-- KEYS[1] the row. ARGV: the last second at which to write, the version read, the second to expire (0 for never), the row.
-- A row begins with its version in 4 bytes and the number of the write in 8.
local now = tonumber(redis.call('TIME')[1])
if now > tonumber(ARGV[1]) then return -1 end
local held = redis.call('GETRANGE', KEYS[1], 0, 11)
-- A write that is sent twice gets the same answer. It is done again, since WAIT covers only the writes of its own
-- connection.
if held ~= string.sub(ARGV[4], 1, 12) and string.sub(held, 1, 4) ~= ARGV[2] then return 0 end
if tonumber(ARGV[3]) > now then
    redis.call('SET', KEYS[1], ARGV[4], 'EXAT', ARGV[3])
else
    redis.call('SET', KEYS[1], ARGV[4])
end
return 1
