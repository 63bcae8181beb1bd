-- name: append
insert into penstock.audit (actor, ip, action, kind, object, owner, request_id, details)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb)
