-- name: put
-- A stage that runs again in the same run writes the same numbers again: the last one counts.
insert into website_analysis.pages (task_id, run, number, kind, url, final_url, status, headers, body, sha256)
values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9, $10)
on conflict (task_id, run, number) do update set
    kind = excluded.kind, url = excluded.url, final_url = excluded.final_url, status = excluded.status,
    headers = excluded.headers, body = excluded.body, sha256 = excluded.sha256, fetched_at = now()

-- name: drop_behind
-- What an earlier attempt of the same run fetched beyond the last number of this one.
delete from website_analysis.pages where task_id = $1 and run = $2 and number > $3

-- name: kept
-- Of the newest run that has any: a run that used earlier results again fetched nothing.
select kind, url, final_url, status, headers, body from website_analysis.pages
where task_id = $1 and run = (select max(run) from website_analysis.pages where task_id = $1)
order by number

-- name: sweep
-- Kept for a time only; a batch at a time, so that nothing is locked for long.
with old as (  -- rows lie in the order of their age, which the index by age makes use of
    select task_id, run, number from website_analysis.pages
    where fetched_at < now() - make_interval(secs => $1::float8) limit $2
)
delete from website_analysis.pages as p using old
where (p.task_id, p.run, p.number) = (old.task_id, old.run, old.number)
