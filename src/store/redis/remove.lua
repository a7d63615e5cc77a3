-- Removes one row if it is due. KEYS[1] the row. ARGV: the time. Returns 0 if it was removed, -1 if there is none, -2 if it is
-- no row, otherwise the time at which it is due.
local held = redis.call('GETRANGE', KEYS[1], 0, 15)
if held == '' then return -1 end
if #held < 16 then return -2 end
local due = struct.unpack('>I4', held, 13)
if due > tonumber(ARGV[1]) then return due end
redis.call('DEL', KEYS[1])
return 0
