-- Puts entries back for others to take: they wait under the name of the returned, with their deliveries as counted.
-- Redis has no such command; an entry can only be claimed by somebody else.
-- KEYS: the streams. ARGV: group, name of the returned, most, then either consumer and 'closed' (all that it holds, and
-- the consumer goes), or idle milliseconds and 'silent' (all that consumers hold who were silent for so long).
-- Answer: how many were put back, how many consumers are gone.
local group, returned, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local moved, gone = 0, 0

local function put_back(key, consumer)
    local held = redis.call('XPENDING', key, group, '-', '+', most - moved, consumer)
    for _, one in ipairs(held) do
        redis.call('XCLAIM', key, group, returned, 0, one[1], 'JUSTID')
    end
    moved = moved + #held
    -- A consumer that still has something pending would take it along into nothing.
    if moved < most and #redis.call('XPENDING', key, group, '-', '+', 1, consumer) == 0 then
        redis.call('XGROUP', 'DELCONSUMER', key, group, consumer)
        gone = gone + 1
    end
end

for _, key in ipairs(KEYS) do
    if moved >= most then break end
    if ARGV[5] == 'closed' then
        put_back(key, ARGV[4])
    else
        for _, told in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
            local about = {}
            for i = 1, #told, 2 do about[told[i]] = told[i + 1] end
            if moved < most and about.name ~= returned and about.idle >= tonumber(ARGV[4]) then
                put_back(key, about.name)
            end
        end
    end
end
return {moved, gone}
