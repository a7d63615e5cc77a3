-- Adds one entry to a set of ids, unless there is one of its id. KEYS[1] the set. ARGV: the member, and the
-- bounds of the entries of its id.
if #redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3], 'BYLEX', 'LIMIT', 0, 1) > 0 then return 0 end
return redis.call('ZADD', KEYS[1], 0, ARGV[1])
