-- Candidates of records, best first.

-- name: of_record
select rank, entity, label, description, score, parts::text as parts
from record_linking.candidates where record_id = $1 order by rank

-- name: of_records
-- The first $2 of each, for pages and exports.
select record_id, rank, entity, label, description, score, parts::text as parts
from record_linking.candidates where record_id = any ($1::bigint[]) and rank <= $2 order by record_id, rank

-- name: replace
-- All of these records at once; what an earlier scoring left goes.
with gone as (
    delete from record_linking.candidates where record_id = any ($1::bigint[]) and rank > coalesce((
        select max(n.rank) from unnest($2::bigint[], $3::smallint[]) as n (record_id, rank)
        where n.record_id = candidates.record_id), 0)
)
insert into record_linking.candidates (record_id, rank, entity, label, description, score, parts)
select record_id, rank, entity, label, description, score, parts::jsonb
from unnest($2::bigint[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::real[], $8::text[])
    as c (record_id, rank, entity, label, description, score, parts)
on conflict (record_id, rank) do update set entity = excluded.entity, label = excluded.label,
    description = excluded.description, score = excluded.score, parts = excluded.parts
