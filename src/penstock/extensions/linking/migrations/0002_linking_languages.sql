-- Entities are shared by all projects: those of a language that was never asked for have to be fetched again.
alter table record_linking.entities add column languages text[] not null default '{}';  -- asked for, or to be asked for
-- For upkeep, which forgets what is old.
create index searches_age on record_linking.searches using brin (fetched_at);
create index entities_age on record_linking.entities using brin (fetched_at);
