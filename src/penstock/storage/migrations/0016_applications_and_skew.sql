-- Tasks that a worker left for another release, newest first. There are none but during a deploy.
create index if not exists attempts_version_skew on penstock.attempts (at) where cause = 'version skew';

-- Last, because every claim reads this table and waits for the end of the migration from here on.
-- The application that runs the stage: two of them in one database never run each other's tasks. Filled in when the
-- stage is registered next; null for good on Penstock's own stages, which every worker runs.
alter table penstock.stages add column if not exists application text;
