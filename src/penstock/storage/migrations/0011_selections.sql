-- What somebody chose to do something with: some items, or all that match but some. Kept for a day to be used; what is done
-- with it reads it again, batch by batch, so it stays until retention takes it.
create table penstock.selections (
    id         bigint generated always as identity primary key,
    owner      text not null,                  -- who made it
    -- Which items match: jobId, statuses, since, until, type, group, owner. Empty where items were picked one by one.
    filter     jsonb not null default '{}',
    picked     bigint[],                       -- null: all that match but `left_out`
    left_out   bigint[] not null default '{}',
    n          bigint not null,                -- how many there were when it was made
    estimate   boolean not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);
create index selections_expired on penstock.selections (expires_at);
