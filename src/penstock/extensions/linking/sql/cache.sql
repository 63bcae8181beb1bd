-- What sources answered, shared by all projects.

-- name: answer
-- Young enough ($5 days), and asked for at least as many candidates ($6).
select ids, scores::text as scores from record_linking.searches
where source = $1 and language = $2 and query = $3 and types = $4
  and fetched_at > now() - $5::double precision * interval '1 day' and asked >= $6

-- name: answers
-- Whatever their age: scoring asks nobody.
select s.language, s.query, s.ids, s.scores::text as scores
from unnest($3::text[], $4::text[]) as w (language, query)
join record_linking.searches s on s.source = $1 and s.types = $2 and s.language = w.language and s.query = w.query

-- name: keep
-- Entities as they came, in the languages $6; sorted, so that two fetches wait for each other in one order. One that moved is kept under both ids. Where
-- somebody asked for a further language meanwhile, it is still wanted. $6 null: they came along with a search.
insert into record_linking.entities as e (source, id, data, missing, moved_to, batch, fetched_at, languages)
select $1, c.id, c.data::jsonb, c.missing, c.moved_to, null, now(), coalesce($6::text[], '{}')
from unnest($2::text[], $3::text[], $4::boolean[], $5::text[]) as c (id, data, missing, moved_to)
order by c.id
on conflict (source, id) do update
set data = excluded.data, missing = excluded.missing, moved_to = excluded.moved_to, batch = null,
    fetched_at = case when $6::text[] is null or e.languages <@ $6 then now() end,
    languages = array(select unnest(e.languages) union select unnest(excluded.languages))

-- name: languages_of
-- What these are to be told in.
select distinct unnest(languages) as language from record_linking.entities where source = $1 and id = any ($2::text[])
order by language

-- name: entities
-- What is known of these, and of what they moved to.
with asked as (
    select id, data, moved_to from record_linking.entities where source = $1 and id = any ($2::text[]) and not missing
)
select a.id as asked, coalesce(e.data, a.data)::text as data
from asked a left join record_linking.entities e on e.source = $1 and e.id = a.moved_to and not e.missing
where coalesce(e.data, a.data) is not null

-- name: demand
-- Whether there is a batch to make: entities that nobody fetches yet (counted up to $2), and whether names of the source
-- are still being searched. What is paused or cancelled brings nothing for now.
select (select count(*) from (
            select from record_linking.entities where source = $1 and fetched_at is null and batch is null limit $2) free
       )::integer as wanted,
       exists (
            select from record_linking.projects p
            join penstock.lane_states l on l.job_id = p.job_id and l.pipeline = $3 and not l.paused and not l.cancelled
            join penstock.stage_load s on s.pipeline = l.pipeline and not s.paused
            where p.source = $1 and p.started_at is not null and p.ended_at is null and p.deleted_at is null
              and (exists (select from penstock.queued_tasks q
                           where q.stage_id = s.stage_id and q.lane_id = l.lane_id and not q.running)
                   or exists (select from penstock.queued_tasks q
                              where q.stage_id = s.stage_id and q.lane_id = l.lane_id and q.running))
       ) as searching

-- name: one_maker
-- Two makers at one time would each cut a rest. Held until the transaction ends.
select pg_advisory_xact_lock(hashtext('record_linking'), hashtext($1))

-- name: wanted
-- The oldest first.
select id from record_linking.entities where source = $1 and fetched_at is null and batch is null
order by wanted_at, id limit $2

-- name: give_to
-- These are fetched by task $3.
update record_linking.entities set batch = $3
where source = $1 and id = any ($2::text[]) and fetched_at is null and batch is null

-- name: free_lost
-- Entities whose task is gone, cancelled, or waits in a paused job, without having brought them: others may want them.
-- Those of a task that died are not simply tried again: see dead.
with lost as materialized (
    select e.id, e.batch from record_linking.entities e
    where e.source = $1 and e.batch is not null and e.fetched_at is null
      and not exists (select from penstock.task_outcomes o where o.task_id = e.batch and o.status = 3)
      and not exists (
        select from penstock.queued_tasks q join penstock.lane_states l on l.lane_id = q.lane_id and not l.cancelled
        where q.task_id = e.batch and (q.running or not l.paused))
)
update record_linking.entities e set batch = null from lost
where e.source = $1 and e.id = lost.id and e.batch = lost.batch and e.fetched_at is null

-- name: dead
-- Tasks that died without having brought or given up their entities.
select e.batch, array_agg(e.id order by e.id) as ids
from record_linking.entities e join penstock.task_outcomes o on o.task_id = e.batch and o.status = 3
where e.source = $1 and e.batch is not null and e.fetched_at is null
  and not exists (select from penstock.queued_tasks q where q.task_id = e.batch)
group by e.batch order by e.batch

-- name: pass_on
-- From task $3, which died, to task $4.
update record_linking.entities set batch = $4
where source = $1 and id = any ($2::text[]) and batch = $3 and fetched_at is null

-- name: given_to
-- What task $3 is still to fetch: while its job was paused, others may have taken some.
select id from record_linking.entities where source = $1 and id = any ($2::text[]) and batch = $3 order by id

-- name: give_up
-- Entities that could not be had: the next search that finds them wants them anew. What was known of them before stays.
with freed as (
    update record_linking.entities set batch = null
    where source = $1 and id = any ($2::text[]) and fetched_at is null and data is not null
)
delete from record_linking.entities
where source = $1 and id = any ($2::text[]) and fetched_at is null and data is null

-- name: answered
-- A name was answered: what is to be kept ($5: the answers that were not cached, under the types $11 that were asked
-- for), what is to be fetched ($6, older than $7 days, or not told in the languages $10) and where its records stand ($8:
-- the language that answered), in one statement, since there is one per name.
with held as (
    -- As long as the transaction is open, nobody cancels or deletes the project; not held, nothing is written.
    select id, source from record_linking.projects
    where id = $1 and run = $2 and ended_at is null and deleted_at is null for share
), kept as (
    insert into record_linking.searches (source, language, query, types, ids, asked, scores)
    select held.source, a.language, $4, $11, array(select jsonb_array_elements_text(a.ids)), $9, a.scores
    from held cross join jsonb_to_recordset($5::text::jsonb) as a (language text, ids jsonb, scores jsonb)
    order by a.language
    on conflict (source, language, query, types) do update
    set ids = excluded.ids, asked = excluded.asked, scores = excluded.scores, fetched_at = now()
), wanted as (
    -- Sorted, so that two searches that find the same entities wait for each other in one order; what is there already
    -- is not locked at all.
    insert into record_linking.entities as e (source, id, languages)
    select held.source, w.id, $10::text[]
    from held cross join (select distinct id from unnest($6::text[]) as given (id)) w
    where not exists (
        select from record_linking.entities h where h.source = held.source and h.id = w.id and h.languages @> $10::text[]
          and (h.fetched_at is null or h.fetched_at > now() - $7::double precision * interval '1 day'))
    order by w.id
    on conflict (source, id) do update
    set fetched_at = null, wanted_at = case when e.fetched_at is null then e.wanted_at else now() end,
        languages = array(select unnest(e.languages) union select unnest(excluded.languages))
    where e.fetched_at < now() - $7::double precision * interval '1 day' or not e.languages @> $10::text[]
    returning e.id
), moved as (
    update record_linking.records r set state = 2, language = $8, ready = false, updated_at = now()
    from held where r.project_id = $1 and r.run = $2 and r.language = $3 and r.query = $4 and r.state = 1
)
select (select count(*) from held)::integer as held, (select count(*) from wanted)::integer as new

-- name: forget_searches
-- Answers of $1 days ago, at most $2.
delete from record_linking.searches where (source, language, query, types) in (
    select source, language, query, types from record_linking.searches
    where fetched_at < now() - $1::double precision * interval '1 day' limit $2)

-- name: forget_entities
-- What is wanted anew has no time, and stays.
delete from record_linking.entities where (source, id) in (
    select source, id from record_linking.entities
    where fetched_at < now() - $1::double precision * interval '1 day' limit $2)
