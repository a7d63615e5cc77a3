-- Adds one entry to a list, unless there is one for its key. KEYS[1] the set. ARGV: the member, and the bounds of the
-- entries of its key.
if #redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3], 'BYLEX', 'LIMIT', 0, 1) > 0 then return 0 end
return redis.call('ZADD', KEYS[1], 0, ARGV[1])
