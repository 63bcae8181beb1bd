-- What people decided. Every write leaves a row here, and undo goes back along them. Whoever writes holds the project in
-- share, so that no run starts in between and takes what was just decided.

-- name: hold_record
-- One reviewer at a time: the second one waits here, and then sees what the first one decided.
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records where project_id = $1 and number = $2 for update

-- name: decide
-- One record. $10 false: it is given back to the machine. The gap is to the best of the other candidates; an id that is no
-- candidate has neither score nor gap.
with was as (
    select id, state, entity, label, score from record_linking.records where id = $2 and project_id = $1
), told as (
    insert into record_linking.decisions
        (project_id, record_id, batch, move, from_state, from_entity, from_label, from_score, to_state, to_entity, by)
    select $1, id, $3, $4, state, entity, label, score, $5, $6, $9 from was
)
update record_linking.records r
set state = $5, entity = $6, label = $7, score = $8::real,
    gap = $8::real - coalesce((select max(c.score) from record_linking.candidates c
                               where c.record_id = r.id and c.entity <> $6), 0),
    decided_by = case when $10 then $9 end, decided_at = case when $10 then now() end, updated_at = now()
from was where r.id = was.id

-- name: set_note
update record_linking.records set note = $3, updated_at = now() where project_id = $1 and number = $2 returning id

-- name: accept_above
-- Everything that waits for review, is at least $2 sure and at least $3 ahead. In the order of ids, so that two such calls
-- wait for each other instead of blocking each other; the second finds nothing left.
with chosen as materialized (
    select id, state, entity, label, score from record_linking.records
    where project_id = $1 and state = 3 and decided_by is null and entity is not null
      and score >= $2::real and coalesce(gap, 0) >= $3::real
    order by id for update
), told as (
    insert into record_linking.decisions
        (project_id, record_id, batch, move, from_state, from_entity, from_label, from_score, to_state, to_entity, by)
    select $1, id, $4, 'accept', state, entity, label, score, 4, entity, $5 from chosen
), moved as (
    update record_linking.records r set state = 4, decided_by = $5, decided_at = now(), updated_at = now()
    from chosen c where r.id = c.id returning r.id
)
select count(*) from moved

-- name: above
-- What accept_above would take, those nearest to the threshold first: there people see whether it is too low.
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records
where project_id = $1 and state = 3 and decided_by is null and entity is not null
  and score >= $2::real and coalesce(gap, 0) >= $3::real
order by score, number limit $4

-- name: below
-- What accept_above would leave to people, those nearest to the threshold first.
select id, project_id, number, cells::text as cells, state, run, query, language, entity, label, score, gap, decided_by,
       decided_at, note, error, updated_at
from record_linking.records
where project_id = $1 and state = 3 and decided_by is null and entity is not null
  and not (score >= $2::real and coalesce(gap, 0) >= $3::real)
order by score desc, number limit $4

-- name: histogram
-- Scores of what waits for review in twenty steps, and how many of each accept_above would take.
select least(floor(score * 20), 19)::integer as step, count(*) as waiting,
       count(*) filter (where decided_by is null and entity is not null
                          and score >= $2::real and coalesce(gap, 0) >= $3::real) as taken
from record_linking.records where project_id = $1 and state = 3 and score is not null
group by step order by step

-- name: undo
-- A batch ($2), or the last decision about one record ($3): as far as nobody decided anything since and the record is still
-- what the decision made of it. Who decided before is what the decision before says; without one it was the machine.
with meant as materialized (
    select d.* from record_linking.decisions d
    where d.project_id = $1 and d.move <> 'undo' and d.undone_at is null
      and case when $2::uuid is not null then d.batch = $2
               else d.id = (select max(l.id) from record_linking.decisions l
                            join record_linking.records r on r.id = l.record_id
                            where r.project_id = $1 and r.number = $3 and l.undone_at is null and l.move <> 'undo') end
), chosen as materialized (
    select m.id as decision_id, m.from_state, m.from_entity, m.from_label, m.from_score, r.id, r.state, r.entity, r.label,
           r.score, before.by as before_by, before.at as before_at
    from meant m
    join record_linking.records r on r.id = m.record_id
    left join lateral (
        select case when b.move = 'reopen' then null else b.by end as by,
               case when b.move = 'reopen' then null else b.at end as at
        from record_linking.decisions b
        where b.record_id = m.record_id and b.id < m.id and b.undone_at is null and b.move <> 'undo'
        order by b.id desc limit 1) before on true
    where r.state = m.to_state and r.entity is not distinct from m.to_entity
      and case when m.move = 'reopen' then r.decided_by is null else r.decided_by = m.by and r.decided_at = m.at end
      and not exists (select from record_linking.decisions x
                      where x.record_id = m.record_id and x.id > m.id and x.undone_at is null and x.move <> 'undo')
    order by r.id for update of r
), marked as (
    update record_linking.decisions d set undone_at = now() from chosen c where d.id = c.decision_id
), told as (
    insert into record_linking.decisions
        (project_id, record_id, batch, move, from_state, from_entity, from_label, from_score, to_state, to_entity, by)
    select $1, id, $4, 'undo', state, entity, label, score, from_state, from_entity, $5 from chosen
), moved as (
    update record_linking.records r
    set state = c.from_state, entity = c.from_entity, label = c.from_label, score = c.from_score,
        gap = c.from_score - coalesce((select max(o.score) from record_linking.candidates o
                                       where o.record_id = r.id and o.entity <> c.from_entity), 0),
        decided_by = c.before_by,
        decided_at = coalesce(c.before_at, case when c.from_state = 4 then now() end), updated_at = now()
    from chosen c where r.id = c.id returning r.id
)
select (select count(*) from moved) as undone,
       (select count(*) from meant) - (select count(*) from moved) as changed_since

-- name: history
-- Of a record, the newest first, before $2.
select id as decision_id, batch, move, from_state, from_entity, to_state, to_entity, by, at, undone_at
from record_linking.decisions where record_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3

-- name: last
-- The one that an undo of the record would take back: whose is it?
select id as decision_id, batch, move, from_state, from_entity, to_state, to_entity, by, at, undone_at
from record_linking.decisions where record_id = $1 and undone_at is null and move <> 'undo' order by id desc limit 1

-- name: cached_label
-- Of an id that somebody gives by hand: where it is now, and its data, as far as the cache knows it.
select coalesce(n.data, e.data)::text as data, coalesce(n.missing, e.missing) as missing
from record_linking.entities e
left join record_linking.entities n on n.source = e.source and n.id = e.moved_to
where e.source = $1 and e.id = $2 and e.fetched_at is not null
