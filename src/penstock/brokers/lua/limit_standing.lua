-- How a budget stands, and its block. Takes nothing.
local left = ''
if rate then left = string.format('%.6f', burst - rate * (math.max(tat, at) - at) / 1000000) end
return {write(math.max(blocked - at, 0)), rate_text, tostring(burst or ''), left}
