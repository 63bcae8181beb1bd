-- Appends messages to one stream: one answer for a thousand of them, where a pipeline would have a thousand answers.
-- KEYS: the stream. ARGV: the messages.
for i = 1, #ARGV do
    redis.call('XADD', KEYS[1], '*', 'm', ARGV[i])
end
return #ARGV
