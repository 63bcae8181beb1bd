-- The edited copies of a job, for its exports. Nearly no task is one, so nearly no insert pays for it.
create index tasks_edited on penstock.tasks (job_id, id) where replaces is not null;

-- What changes nothing: an admin read what belongs to somebody else. There are many of them among few acts.
alter table penstock.audit add column look boolean not null default false;
