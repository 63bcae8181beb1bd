-- Somebody changed the limit, blocked the key or removed it: from now on what others remember is void.
keep()
return 1
