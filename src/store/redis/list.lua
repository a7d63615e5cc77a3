-- Adds one entry to a list. KEYS[1] the set. ARGV: the member.
-- One that is there is written again, since WAIT covers what its own connection has written.
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('ZADD', KEYS[1], 0, ARGV[1])
