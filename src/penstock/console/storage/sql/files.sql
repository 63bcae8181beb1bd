-- name: create
-- Before its bytes: what is cut half-way has no `stored_at`, and upkeep takes it away.
insert into penstock.files (owner, name, media_type, ip) values ($1, $2, $3, $4) returning id

-- name: append
insert into penstock.file_chunks (file_id, number, data) values ($1, $2, $3)

-- name: finish
update penstock.files set size_bytes = $2, sha256 = $3, media_type = $4, stored_at = now() where id = $1

-- name: belong
-- They go when the job goes.
update penstock.files set job_id = $2 where id = any ($1::bigint[])

-- name: get
select id, owner, name, media_type, ip, size_bytes, sha256, created_at, stored_at from penstock.files where id = $1

-- name: read_chunk
-- Only of a file of this job: people write inputs, and a file that one names may belong to somebody else.
select c.data from penstock.file_chunks c
join penstock.files f on f.id = c.file_id and f.job_id = $3
where c.file_id = $1 and c.number = $2

-- name: earlier_job
-- The newest job of the same owner that was made from the same bytes.
select i.job_id from penstock.files f
join penstock.imports i on i.file_id = f.id
join penstock.job_states j on j.job_id = i.job_id and j.deleted_at is null
where f.owner = $1 and f.sha256 = $2 and f.stored_at is not null and f.id <> $3
order by i.job_id desc limit 1

-- name: discard
-- Only while no job has them: the answer to the commit that made one may have been lost, and the job is there.
delete from penstock.files where id = any ($1::bigint[]) and job_id is null

-- name: unfinished
-- Uploads that were cut, before their end or before their job was made: neither takes a day.
select id from penstock.files where job_id is null and created_at < now() - interval '1 day' order by created_at limit $1

