-- Writes one row, if it still has the version that the caller has read ('' for none).
-- KEYS[1] the row, a string, or a hash with the row in the field 'record' and its parts in others.
-- ARGV: the last second at which to write, the version read, the second to expire (0 for never; a hash stays),
-- the row; for a hash also 'hash', then of each part that changes: name, 'put' or 'clear', bytes.
-- A row begins with its version in 4 bytes and the number of the write in 8.
local now = tonumber(redis.call('TIME')[1])
if now > tonumber(ARGV[1]) then return -1 end
local is_hash = ARGV[5] == 'hash'
local held
if is_hash then
    held = string.sub(redis.call('HGET', KEYS[1], 'record') or '', 1, 12)
else
    held = redis.call('GETRANGE', KEYS[1], 0, 11)
end
-- A write that is sent twice gets the same answer. It is done again, since WAIT covers only the writes of its own
-- connection.
if held ~= string.sub(ARGV[4], 1, 12) and string.sub(held, 1, 4) ~= ARGV[2] then return 0 end
if is_hash then
    redis.call('HSET', KEYS[1], 'record', ARGV[4])
    for part = 6, #ARGV, 3 do
        if ARGV[part + 1] == 'put' then
            redis.call('HSET', KEYS[1], ARGV[part], ARGV[part + 2])
        else
            redis.call('HDEL', KEYS[1], ARGV[part])
        end
    end
elseif tonumber(ARGV[3]) > now then
    redis.call('SET', KEYS[1], ARGV[4], 'EXAT', ARGV[3])
else
    redis.call('SET', KEYS[1], ARGV[4])
end
return 1
