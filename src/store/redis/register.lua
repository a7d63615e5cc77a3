-- Writes one registration, if it still has the version that the caller has seen ('' for none).
-- KEYS[1] the hash. ARGV: the last second at which to write, 4 octets of the new version and 8 that are the
-- write's own, the version seen, client, application, and for each logo 'keep', 'clear' or 'put' with octets.
if tonumber(redis.call('TIME')[1]) > tonumber(ARGV[1]) then return -1 end
local held = redis.call('HGET', KEYS[1], 'write') or ''
-- A write that is sent twice is answered as it was the first time. It is done again, since WAIT speaks of
-- what its own connection has written.
if held ~= ARGV[2] and string.sub(held, 1, 4) ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], 'write', ARGV[2], 'client', ARGV[4], 'application', ARGV[5])
for place, field in ipairs({'logo', 'proposed_logo'}) do
    local what = ARGV[4 + 2 * place]
    if what == 'put' then redis.call('HSET', KEYS[1], field, ARGV[5 + 2 * place]) end
    if what == 'clear' then redis.call('HDEL', KEYS[1], field) end
end
return 1
