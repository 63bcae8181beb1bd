-- What people decided about one site: prompts they edited, whether models may be asked, options for its next run.

-- name: set_prompts
-- A person's prompts take the place of the formed ones; null gives the formed ones back. An approval was given for the
-- prompts of its time, so it ends when they change.
insert into website_analysis.orders (task_id, prompts, decided_by)
values ($1, $2::text::jsonb, $3)
on conflict (task_id) do update
set prompts = excluded.prompts,
    approved_at = case when orders.prompts is not distinct from excluded.prompts then orders.approved_at end,
    decided_by = excluded.decided_by, decided_at = now()

-- name: approve
-- Models may be asked from now on. The first approval counts, so that a second press of the button changes nothing.
insert into website_analysis.orders (task_id, approved_at, decided_by)
select task_id, now(), $2 from unnest($1::bigint[]) as wanted (task_id)
on conflict (task_id) do update
set approved_at = now(), decided_by = excluded.decided_by, decided_at = now()
where orders.approved_at is null
returning task_id

-- name: withdraw_approval
-- It was given for prompts of an earlier run; these were formed anew.
update website_analysis.orders set approved_at = null where task_id = $1 and approved_at is not null

-- name: set_options
-- What the next run of these sites, and no other, uses instead of what their job was submitted with.
insert into website_analysis.orders (task_id, options, for_run, decided_by)
select o.task_id, $2::text::jsonb, o.run + 1, $3 from penstock.task_outcomes o where o.task_id = any ($1::bigint[])
on conflict (task_id) do update
set options = excluded.options, for_run = excluded.for_run, decided_by = excluded.decided_by, decided_at = now()

-- name: get
-- Read by the stages before they begin, and by whoever looks at the site.
select task_id, prompts, approved_at, options, for_run, decided_by from website_analysis.orders where task_id = $1
