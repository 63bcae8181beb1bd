-- Permits for the first requests, as many as are due.
-- More ARGV: ahead (microseconds), longest reach of a heavy request (microseconds), weights.
local ahead, heavy = tonumber(ARGV[7]), tonumber(ARGV[8])
local start = math.max(at, blocked)
local delays, wait = {}, -1
if not rate then
  if blocked > at then
    wait = blocked - at
  else
    for place = 9, #ARGV do delays[#delays + 1] = '0' end
  end
else
  tat = math.max(tat, start)
  for place = 9, #ARGV do
    local weight = tonumber(ARGV[place])
    if weight > burst then break end
    local moved = tat + weight * step
    local ready = math.max(start, moved - burst * step)
    local reach = ahead
    if weight > 1 then reach = ahead + math.min(weight * 1000000 / rate, heavy) end
    if ready > at + math.floor(reach + 0.5) then
      wait = ready - at
      break
    end
    tat = moved
    delays[#delays + 1] = write(ready - at)
  end
end
if changed or (rate and #delays > 0) then keep() end
return {write(wait), rate_text, tostring(burst or ''), write(at), delays}
