-- Passwords beside login links, when a session was last used, and what admins change while everything runs.

-- Null: gets in by a login link only. The hash holds its own parameters, so that they can grow.
alter table penstock.users
    add column password_hash       text,
    add column password_changed_at timestamptz;

-- To the minute, as the end of a session is.
alter table penstock.sessions add column last_seen_at timestamptz not null default now();

-- What stands here counts instead of the environment's value: in every process, and from its next look on.
create table penstock.preferences (
    name       text primary key,
    value      jsonb not null,
    changed_by text not null,
    changed_at timestamptz not null default now()
);

-- For pages that begin at a time, and for forgetting what is old.
create index audit_age on penstock.audit (at);
