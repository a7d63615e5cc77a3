-- Writes one row again as it is, if it has this version and record, so that WAIT covers it.
-- KEYS[1] the row. ARGV: the version, the record with its length before it. See put.lua; the record follows the first 16
-- bytes of a row. The number of the write stays, so that a second attempt of its caller is still recognized.
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 1, 4) ~= ARGV[1] then return 0 end
if string.sub(held, 17, 16 + #ARGV[2]) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], held, 'KEEPTTL')
return 1
