-- Nobody gets a permit for so long. More ARGV: how long from now (microseconds).
block_until(at + tonumber(ARGV[7]))
-- Also where a longer block stood: the budget after it is empty but for one permit.
if rate then tat = math.max(tat, blocked + (burst - 1) * step) end
keep()
return 1
