-- Adds one entry to a list. KEYS[1] the set. ARGV: the member.
-- An existing entry is written again, since WAIT covers only the writes of its own connection.
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('ZADD', KEYS[1], 0, ARGV[1])
