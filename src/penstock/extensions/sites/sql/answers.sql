-- name: stored
-- What is answered already, when a run goes on after a pause or a crash.
select prompt, model, sample, text, problem, tokens_in, tokens_out, cost, took_ms, evidence, details
from website_analysis.answers where task_id = $1 and run = $2 order by model, prompt, sample

-- name: of_task
-- For people: the newest run that got as far as asking.
select prompt, model, sample, text, problem, tokens_in, tokens_out, cost, took_ms, evidence, details
from website_analysis.answers
where task_id = $1 and run = (select max(run) from website_analysis.answers where task_id = $1)
order by model, prompt, sample

-- name: store
-- Each answer as it comes: it was paid for. Whoever is first stays, but for a problem that was solved meanwhile.
insert into website_analysis.answers as a
    (task_id, run, model, prompt, sample, text, problem, tokens_in, tokens_out, cost, took_ms, evidence, details)
select $1::bigint, $2::smallint, given.model, given.prompt, given.sample, given.text, given.problem, given.tokens_in,
       given.tokens_out, given.cost, given.took_ms, given.evidence, given.details
from jsonb_populate_record(null::website_analysis.answers, $3::text::jsonb) as given
on conflict (task_id, run, model, prompt, sample) do update set
    text = excluded.text, problem = excluded.problem, tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out,
    cost = excluded.cost, took_ms = excluded.took_ms, evidence = excluded.evidence, details = excluded.details,
    at = now()
where a.text is null and excluded.text is not null

-- name: reuse
-- Texts of earlier runs by the same version of a model, the newest of each; they cost nothing a second time. Problems
-- are not copied: whoever runs it again wants to know whether they are gone.
insert into website_analysis.answers
    (task_id, run, model, prompt, sample, text, problem, tokens_in, tokens_out, cost, took_ms, evidence, details)
select distinct on (a.model, a.prompt, a.sample)
       a.task_id, $2::smallint, a.model, a.prompt, a.sample, a.text, a.problem, a.tokens_in, a.tokens_out, 0, a.took_ms,
       a.evidence, jsonb_build_object('reused_from_run', a.run) || a.details
from website_analysis.answers a
join unnest($3::text[], $4::text[]) as wanted (model, version)
  on wanted.model = a.model and wanted.version = a.details ->> 'version'
where a.task_id = $1 and a.run < $2 and a.text is not null
order by a.model, a.prompt, a.sample, a.run desc
on conflict do nothing
