-- The edited copies of a job, for its exports. Nearly no task is one, so nearly no insert pays for it.
create index tasks_edited on penstock.tasks (job_id, id) where replaces is not null;

-- What was edited is counted and listed by its copy alone: see sql/outcomes.sql, replace.
with old as (
    update penstock.outcomes set job_id = null
    where job_id is not null and status = 5 and error ->> 'type' = 'Replaced' and error ? 'task_id'
    returning lane, stage
)
insert into penstock.counts (lane, stage, state, n)
select lane, stage, change.state, sum(change.n)
from old cross join (values (0, -1), (5, -1), (15, -1), (10, 1)) as change (state, n)
group by lane, stage, change.state;

-- What changes nothing: an admin read what belongs to somebody else. There are many of them among few acts.
alter table penstock.audit add column look boolean not null default false;
update penstock.audit set look = true
where action like '%.look' or action like '%.look\_at%' or action in (
    'articles.search_all', 'generation.compare', 'source.list', 'source.show', 'stream.all');

-- When something was begun with it. Of the others, only so many are kept.
alter table penstock.selections add column used_at timestamptz;
update penstock.selections set used_at = created_at;
create index selections_unused on penstock.selections (owner, id) where used_at is null;
