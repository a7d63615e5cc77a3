-- Removes one row if it is due. KEYS[1] the row, a string, or a hash with the row in the field 'record'. ARGV: the
-- time; for a hash also 'hash'. Returns 0 if it was removed, -1 if there is none, -2 if it is no row, otherwise the
-- time at which it is due.
local held
if ARGV[2] == 'hash' then
    held = string.sub(redis.call('HGET', KEYS[1], 'record') or '', 1, 16)
else
    held = redis.call('GETRANGE', KEYS[1], 0, 15)
end
if held == '' then return -1 end
if #held < 16 then return -2 end
local due = struct.unpack('>I4', held, 13)
if due > tonumber(ARGV[1]) then return due end
redis.call('DEL', KEYS[1])
return 0
