-- Records of projects. Writes of a run name it, and the states it may write to: a later run, a cancel or a person wins.

-- name: get
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records where project_id = $1 and number = $2

-- name: page
-- By number behind $2.
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records where project_id = $1 and number > $2 order by number limit $3

-- name: page_before
-- The same backwards.
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records where project_id = $1 and number < $2 order by number desc limit $3

-- name: page_of_states
-- Only the states $3. Each is read from its own part of the listing's index: one that is rare among a million others is
-- found as fast as a frequent one.
select r.* from unnest($3::smallint[]) as s (state) cross join lateral (
    select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
           decided_at, note, error, updated_at
    from record_linking.records where project_id = $1 and state = s.state and number > $2 order by number limit $4) r
order by r.number limit $4

-- name: page_of_states_before
-- The same backwards.
select r.* from unnest($3::smallint[]) as s (state) cross join lateral (
    select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
           decided_at, note, error, updated_at
    from record_linking.records where project_id = $1 and state = s.state and number < $2
    order by number desc limit $4) r
order by r.number desc limit $4

-- name: of_numbers
-- Those that somebody has on screen, as they are now.
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records where project_id = $1 and number = any ($2::integer[]) order by number

-- name: scores
-- How the scores of each of the states $2 are spread, in twenty steps. Of many thousands the first $3 will do, so that a
-- look costs the same in any project; a step of null: without a score.
select s.state, case when r.score is not null then least(floor(r.score * 20), 19)::integer end as step,
       count(*)::integer as n
from unnest($2::smallint[]) as s (state) cross join lateral (
    select score from record_linking.records where project_id = $1 and state = s.state order by number limit $3) r
group by 1, 2 order by 1, 2

-- name: of_ids
-- What a task scores. Those that are gone are left out.
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records where id = any ($1::bigint[]) order by id

-- name: counts
-- Exact: the listing's index is read, not the rows.
select state, count(*) as n from record_linking.records where project_id = $1 group by state

-- name: failures
-- Why records failed, the most frequent reason first; of many thousands a part will do.
select error as reason, count(*)::integer as count from (
    select error from record_linking.records where project_id = $1 and state = 7 limit 10000) failed
group by error order by count(*) desc, error limit $2

-- name: chosen
-- What a run may take, by number behind $2: the states $3, and only what no person decided. `digest` is that of the last
-- match.
select id, number, cells::text as cells, digest from record_linking.records
where project_id = $1 and number > $2 and state = any ($3::smallint[]) and decided_by is null
order by number limit $4

-- name: queue
-- A batch of records into a run. Candidates of an earlier run stay visible until there are new ones.
update record_linking.records r
set state = 1, run = $2, query = c.query, language = c.language, digest = c.digest, ready = false, error = null,
    entity = null, label = null, score = null, gap = null, decided_by = null, decided_at = null, updated_at = now()
from unnest($3::bigint[], $4::text[], $5::text[], $6::bytea[]) as c (id, query, language, digest)
where r.id = c.id and r.project_id = $1

-- name: without_name
-- Records that cannot be asked for: they end at once.
update record_linking.records r
set state = 6, run = $2, query = null, language = null, digest = c.digest, ready = false, error = $5,
    entity = null, label = null, score = null, gap = null, decided_by = null, decided_at = null, updated_at = now()
from unnest($3::bigint[], $4::bytea[]) as c (id, digest)
where r.id = c.id and r.project_id = $1

-- name: drop_candidates
-- Of records that have none any more.
delete from record_linking.candidates where record_id = any ($1::bigint[])

-- name: end_group
-- A name that nothing was found for, or whose search failed: $5 the state, $6 the reason, $7 where its records are now.
with ended as (
    update record_linking.records set state = $5, error = $6, updated_at = now()
    where project_id = $1 and run = $2 and language = $3 and query = $4 and state = $7 and not ready
    returning id
), dropped as (
    delete from record_linking.candidates where record_id in (select id from ended)
)
select count(*) from ended

-- name: ready_by_entities
-- Entities have come: records whose candidates are all there now are handed to scoring, each once. In the order of their
-- ids, so that two that do this at one time cannot block each other.
with live as materialized (
    -- Held, so that nobody deletes or cancels a project while tasks are made for it.
    select id, run, types_key from record_linking.projects
    where source = $1 and started_at is not null and ended_at is null and deleted_at is null for share
), touched as materialized (
    select language, query, types, ids from record_linking.searches where source = $1 and ids && $2::text[]
), complete as materialized (
    select t.* from touched t
    where not exists (
        select from unnest(t.ids) as i (id)
        left join record_linking.entities e on e.source = $1 and e.id = i.id
        where e.fetched_at is null)
), picked as (
    select r.id from complete c
    join record_linking.records r on r.query = c.query and r.language = c.language and r.state = 2 and not r.ready
    join live p on p.id = r.project_id and p.run = r.run and p.types_key = c.types
    order by r.id for update of r
)
update record_linking.records r set ready = true from picked where r.id = picked.id
returning r.id, r.project_id, r.run

-- name: ready_by_group
-- The same for one name of a project, whose candidates may have been there before. $4 null: all names of the project.
with live as materialized (
    select id, run, source, types_key from record_linking.projects
    where id = $1 and run = $2 and ended_at is null and deleted_at is null for share
), waiting as materialized (
    select r.id, s.ids, p.source from live p
    join record_linking.records r on r.project_id = p.id and r.run = p.run and r.state = 2 and not r.ready
     and ($4::text is null or r.language = $3 and r.query = $4)
    join record_linking.searches s
      on s.source = p.source and s.language = r.language and s.query = r.query and s.types = p.types_key
), picked as (
    select r.id from waiting w join record_linking.records r on r.id = w.id and r.state = 2 and not r.ready
    where not exists (
        select from unnest(w.ids) as i (id)
        left join record_linking.entities e on e.source = w.source and e.id = i.id
        where e.fetched_at is null)
    order by r.id for update of r
)
update record_linking.records r set ready = true from picked where r.id = picked.id
returning r.id, r.project_id, r.run

-- name: fail_by_entities
-- Entities that cannot be had: the records that wait for them end with the reason.
update record_linking.records r set state = 7, error = $3, updated_at = now()
from record_linking.searches s, record_linking.projects p
where s.source = $1 and s.ids && $2::text[]
  and r.query = s.query and r.language = s.language and r.state = 2 and not r.ready
  and p.id = r.project_id and p.run = r.run and p.source = $1 and p.types_key = s.types and p.deleted_at is null

-- name: fail_left
-- Nothing works on them any more, although they have not ended: $3 the states, $4 the reason.
update record_linking.records set state = 7, error = $4, updated_at = now()
where project_id = $1 and run = $2 and state = any ($3::smallint[])

-- name: fail
-- These records, with the reason.
update record_linking.records set state = 7, error = $3, updated_at = now()
where id = any ($1::bigint[]) and run = $2 and state in (1, 2)

-- name: cancel_left
update record_linking.records set state = 8, updated_at = now() where project_id = $1 and state in (1, 2)

-- name: scored
-- What scoring decided. $2 null: whichever run they are of, and only what no person decided.
update record_linking.records r
set state = c.state, entity = c.entity, label = c.label, score = c.score, gap = c.gap, error = c.said,
    decided_by = null, decided_at = case when c.state = 4 then now() end, updated_at = now()
from unnest($3::bigint[], $4::smallint[], $5::text[], $6::text[], $7::real[], $8::real[], $9::text[])
    as c (id, state, entity, label, score, gap, said)
where r.id = c.id and r.project_id = $1
  and case when $2::integer is null then r.state in (3, 4, 6) and r.decided_by is null and r.query is not null
           else r.run = $2 and r.state in (1, 2) end
returning r.id

-- name: to_rescore
-- What no person decided, was searched for, and has an answer under the types $2; by id behind $3.
select r.id from record_linking.records r
join record_linking.projects p on p.id = r.project_id
join record_linking.searches s on s.source = p.source and s.language = r.language and s.query = r.query and s.types = $2
where r.project_id = $1 and r.id > $3 and r.state in (3, 4, 6) and r.decided_by is null
order by r.id limit $4

-- name: unanswered
-- The others of those: the source was asked with other types, or what it said is forgotten.
select count(*)::integer from record_linking.records r
join record_linking.projects p on p.id = r.project_id
where r.project_id = $1 and r.state in (3, 4, 6) and r.decided_by is null and r.query is not null
  and not exists (
    select from record_linking.searches s
    where s.source = p.source and s.language = r.language and s.query = r.query and s.types = $2)
