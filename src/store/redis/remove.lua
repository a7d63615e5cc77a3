-- Removes one row, if it still has that version. KEYS[1] the row. ARGV: the version.
if redis.call('GETRANGE', KEYS[1], 0, 3) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
