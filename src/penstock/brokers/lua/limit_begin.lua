-- Shared by all scripts of the limiter. KEYS: the hash of the key, the marker.
-- ARGV: version, rate, burst, step (microseconds), block left (microseconds), since; empty: not limited, not known.
-- What the asking process was told may be a second old: a number that is below the one kept here makes it void.
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]
local function write(number) return string.format('%.0f', number) end
local row = redis.call('HMGET', KEYS[1], 'tat', 'blocked', 'version', 'rate', 'burst', 'step', 'marker', 'since')
local tat, blocked = tonumber(row[1] or 0), tonumber(row[2] or 0)
local version, rate, burst, step = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local told, since = tonumber(ARGV[5]), tonumber(ARGV[6]) or 0
local rate_text, changed, void = ARGV[2], false, false
local stored, stored_since = tonumber(row[3]), tonumber(row[8]) or since
if since > stored_since then
  -- The key was removed since this was written: neither its block nor what was taken counts.
  tat, blocked, stored, row[7], changed, void = 0, 0, nil, false, true, true
elseif since < stored_since then
  told = 0
  if since > 0 then
    version, rate, burst, step = stored, tonumber(row[4]), tonumber(row[5]), tonumber(row[6])
    rate_text = row[4] or ''
  end
  since = stored_since
end
if rate and stored and stored > version then
  version, rate, burst, step, rate_text = stored, tonumber(row[4]), tonumber(row[5]), tonumber(row[6]), row[4]
elseif rate and stored and (row[4] ~= rate_text or tonumber(row[5]) ~= burst) then
  -- What was taken stays taken: carried over in permits.
  local start = math.max(at, blocked)
  local debt = tonumber(row[4]) * (math.max(tat, start) - start) / 1000000
  tat = start + math.ceil(math.min(burst, debt) * 1000000 / rate)
  changed = true
end
if rate then
  local marker = redis.call('GET', KEYS[2])
  if not marker then
    marker = write(at)
    redis.call('SET', KEYS[2], marker)
  end
  if row[7] ~= marker then
    tat = math.max(tat, tonumber(marker) + burst * step)
    row[7] = marker
    changed = true
  end
end
local function block_until(moment)
  if moment > blocked then
    blocked = moment
    if rate then tat = math.max(tat, blocked + (burst - 1) * step) end
    changed = true
  end
end
if told > 0 then block_until(at + told) end
local function keep()
  if void then redis.call('DEL', KEYS[1]) end
  redis.call('HSET', KEYS[1], 'tat', write(tat), 'blocked', write(blocked), 'since', write(since))
  if rate then
    redis.call('HSET', KEYS[1], 'version', write(version), 'rate', rate_text, 'burst', burst, 'step', write(step),
               'marker', row[7])
  end
  -- Two seconds later than it has anything to say, as nobody remembers longer; never beyond what Redis can count.
  local ends = math.min(math.max(tat, blocked, at) / 1000 + 2000, at / 1000 + 1e12)
  redis.call('PEXPIREAT', KEYS[1], write(ends))
end
