-- Hands out up to ARGV[4] messages, a more urgent stream before a less urgent one, and in each first what came back
-- from consumers that closed or died. One script, because three reads in a row could not keep that order.
-- KEYS: the streams, most urgent first, then the parked one. ARGV: group, consumer, name of the returned, most.
-- Answer: for every stream a flat list of id, message, deliveries. An entry that holds more or less than a message is
-- answered with its fields: what they mean is decided where parked ones are read as well.
local group, consumer, returned, left = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local answer = {}

local function message_of(fields, parked)
    if not parked and #fields == 2 and fields[1] == 'm' then return fields[2] end
    return fields
end

for i, key in ipairs(KEYS) do
    local taken = {}
    local waiting = redis.call('XPENDING', key, group, '-', '+', math.max(left, 1), returned)
    for _, one in ipairs(waiting) do
        if left < 1 then break end
        -- Claiming counts the delivery, reading the pending list does not.
        local entry = redis.call('XCLAIM', key, group, consumer, 0, one[1])[1]
        if entry and entry[2] then
            taken[#taken + 1] = entry[1]
            taken[#taken + 1] = message_of(entry[2], i == #KEYS)
            taken[#taken + 1] = one[4] + 1
            left = left - 1
        else
            -- Trimmed by somebody: only the pending list still knows it.
            redis.call('XACK', key, group, one[1])
        end
    end
    if left > 0 and i < #KEYS then
        local read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', left, 'STREAMS', key, '>')
        if read then
            for _, entry in ipairs(read[1][2]) do
                taken[#taken + 1] = entry[1]
                taken[#taken + 1] = message_of(entry[2], i == #KEYS)
                taken[#taken + 1] = 1
                left = left - 1
            end
        end
    end
    answer[i] = taken
end
return answer
