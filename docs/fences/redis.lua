-- EVAL redis.lua 2 FENCE KEY TOKEN VALUE. Tokens are compared as digits: numbers of Lua end at 2^53.
local mine, latest = ARGV[1], redis.call('GET', KEYS[1]) or '0'
if #mine < #latest or (#mine == #latest and mine < latest) then
  return redis.error_reply('FENCED a later holder has written: ' .. latest)
end
redis.call('SET', KEYS[1], mine)
redis.call('SET', KEYS[2], ARGV[2])
return redis.status_reply('OK')
