-- How far a duty has got, where the next run goes on from there. Retention reads only what became due since its last run:
-- what is kept for ever lies among what is removed.
alter table penstock.duties add column if not exists position jsonb;
