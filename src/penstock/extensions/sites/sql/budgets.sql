-- name: open_budget
-- What was spent stays spent: another run of the job may only be given more or less in all.
insert into website_analysis.budgets as b (job_id, most) values ($1, $2)
on conflict (job_id) do update set most = excluded.most, changed_at = now() where b.most <> excluded.most

-- name: reserve
-- The worst case of a call, taken before it begins. The row of the job is locked and looked at again by the update, so
-- of two calls that both fit, but not together, one goes. Compared as numeric: three times 0.1 fits into 0.3.
with granted as (
    update website_analysis.budgets set spent = spent + $4::float8, changed_at = now()
    where job_id = $1 and (spent + $4::float8)::numeric <= $5::float8::numeric
    returning job_id
)
insert into website_analysis.reservations (job_id, task_id, lease, cost)
select job_id, $2, $3, $4 from granted
returning id

-- name: settle
-- What the call did cost in the place of its worst case. Rounded, or a thousand calls would leave dust behind.
with ended as (
    -- Gone where a later lease took it over: then the worst case stays spent.
    delete from website_analysis.reservations where id = $1 returning job_id, cost
)
update website_analysis.budgets as b
set spent = greatest(round((b.spent - ended.cost + $2::float8)::numeric, 12), 0)::float8, changed_at = now()
from ended where b.job_id = ended.job_id

-- name: take_over
-- Calls of an earlier lease of the task: nobody will ever say what they cost, so their worst case stays spent.
delete from website_analysis.reservations where task_id = $1 and lease < $2

-- name: standing
-- Held is what calls under way may still give back. A reservation of a lease that is not current, or older than any
-- call, is of a process that died: it counts as spent, and nobody waits for it.
select b.most, (b.spent - held.cost)::float8 as spent, held.cost as reserved
from website_analysis.budgets b
cross join lateral (
    select coalesce(sum(r.cost), 0)::float8 as cost from website_analysis.reservations r
    where r.job_id = b.job_id and r.at > now() - $2::float8 * interval '1 second'
      and not exists (select from penstock.queued_tasks q
                      where q.task_id = r.task_id and (q.lease is distinct from r.lease or not q.running))
) as held
where b.job_id = $1
