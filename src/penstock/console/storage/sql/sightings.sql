-- name: observe
-- One statement per batch of a listing. What is settled is left alone, so a scan of known files writes nothing; a file
-- that had gone and is back starts its wait anew.
insert into penstock.sightings as known (source_id, key, path, version, size_bytes, scan)
select $1, seen.key, seen.path, seen.version, seen.size_bytes, $2
from unnest($3::bytea[], $4::text[], $5::text[], $6::bigint[]) as seen (key, path, version, size_bytes)
on conflict (source_id, key) do update
-- The higher number stays: a slower, older scan must not make the files of a newer one look unseen.
set scan = greatest(known.scan, excluded.scan),
    state = case when known.state = 'gone' then 'seen' else known.state end,
    first_seen_at = case when known.state = 'gone' then now() else known.first_seen_at end,
    settled_at = null
where known.state in ('seen', 'submitting', 'gone')
returning (xmax = 0) as created

-- name: states
-- What a dry run says about files that are known already.
select key, state from penstock.sightings where source_id = $1 and key = any ($2::bytea[])

-- name: replace
-- After a whole listing: versions of a file that grew meanwhile were never whole, and are nothing to remember.
delete from penstock.sightings as old
where old.source_id = $1 and old.state = 'seen' and old.scan < $2
  and (old.taken_until is null or old.taken_until < now())
  and exists (select from penstock.sightings as newer
              where newer.source_id = $1 and newer.state in ('seen', 'submitting') and newer.scan >= $2
                and newer.path = old.path)

-- name: miss
-- After a whole listing: what it did not see is gone. Rows that somebody works on are left to him.
update penstock.sightings
set state = 'gone', sha256 = null, settled_at = now(), taken_until = null,
    problem = coalesce(problem, 'It was gone before it could be read.')
where source_id = $1 and state in ('seen', 'submitting') and scan < $2
  and (taken_until is null or taken_until < now())
returning path

-- name: take
-- Files that have been the same long enough. Taken for a time, so that two scanners do not read the same file, and a
-- scanner that dies leaves it to the next one; tried once a scan.
update penstock.sightings as taken
set taken_until = now() + make_interval(secs => $4), tried_scan = $2, tries = taken.tries + 1
where taken.id in (
    select id from penstock.sightings
    where source_id = $1 and scan = $2 and state in ('seen', 'submitting')
      and first_seen_at <= now() - make_interval(secs => $3)
      and (taken_until is null or taken_until < now())
      and tried_scan is distinct from $2
    order by id
    limit $5
    for update skip locked
)
returning id, path, version, size_bytes

-- name: waiting
-- Files of this scan that have not been the same for long enough.
select count(*) from penstock.sightings
where source_id = $1 and scan = $2 and state in ('seen', 'submitting') and tried_scan is distinct from $2

-- name: hold
-- The content is ours, unless another file of the source has it: then the unique index says no.
update penstock.sightings set state = 'submitting', sha256 = $2
where id = $1 and state in ('seen', 'submitting')
returning id

-- name: holder
-- Who has the content.
select id, path, state, job_id from penstock.sightings
where source_id = $1 and sha256 = $2 and state in ('submitting', 'submitted')

-- name: settle
-- The end of one version. Kept files are cleared at once, so that nobody looks for them again. A row that somebody
-- else has settled meanwhile stays as he left it.
update penstock.sightings
set state = $2, sha256 = $3, job_id = $4, problem = $5, settled_at = now(), taken_until = null,
    cleared_at = case when $6::boolean then now() end
where id = $1 and state in ('seen', 'submitting')
returning id

-- name: release
-- Nothing was stored; the next scan tries again.
update penstock.sightings set state = 'seen', sha256 = null, taken_until = null, problem = $2
where id = $1 and state in ('seen', 'submitting')

-- name: uncleared
-- Files whose content is safe and that are still to be moved or deleted, also those of a scanner that died before.
select id, path, version, size_bytes from penstock.sightings
where source_id = $1 and cleared_at is null and state in ('submitted', 'duplicate') and id > $2
order by id
limit $3

-- name: cleared
-- Done with the file itself.
update penstock.sightings set cleared_at = now() where id = any ($1::bigint[])

-- name: page
-- Newest first: what happened to the files of a source.
select id, path, version, size_bytes, state, job_id, problem, tries, first_seen_at, settled_at
from penstock.sightings
where source_id = $1 and id < $2 and ($3::text is null or state = $3)
order by id desc
limit $4
