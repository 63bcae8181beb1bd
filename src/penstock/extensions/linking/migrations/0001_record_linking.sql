-- Record linking: projects, their records, what was found, what people decided, and what sources answered.
create schema if not exists record_linking;

create table record_linking.projects (
    id         bigint generated always as identity primary key,
    name       text not null,
    owner      text not null,
    source     text not null,                   -- 'wikidata' or 'reconciliation'
    columns    text[] not null,                 -- of the file, in its order
    roles      jsonb not null,                  -- column → {"role": "name" | "alias" | "type" | "language" | "property", "property"?}
    options    jsonb not null default '{}',     -- languages, types, candidates, accept_score, accept_gap, weights
    -- Grows with every match, rerun and cancel: a write of an older run finds nothing to change.
    run        integer not null default 0,
    job_id     bigint,                          -- the job of the current run
    jobs       bigint[] not null default '{}',  -- all that were made for it and may still be there
    types_key  text not null default '',        -- under which types answers of this run are cached
    started_at timestamptz,
    ended_at   timestamptz,
    -- Nobody sees it and nobody writes for it any more; its rows are taken away in batches.
    deleted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create index projects_owner on record_linking.projects (owner, updated_at, id) where deleted_at is null;
create index projects_deleted on record_linking.projects (id) where deleted_at is not null;
create index projects_job on record_linking.projects (job_id) where job_id is not null;

-- States: 0 NEW, 1 QUEUED, 2 MATCHING, 3 REVIEW, 4 ACCEPTED, 5 REJECTED, 6 NO_CANDIDATE, 7 ERROR, 8 CANCELLED.
create table record_linking.records (
    id         bigint generated always as identity primary key,
    project_id bigint not null references record_linking.projects on delete cascade,
    number     integer not null,                -- row of the file, 1 the first
    cells      jsonb not null,                  -- column → text
    state      smallint not null default 0 check (state between 0 and 8),
    run        integer not null default 0,      -- of the project, when it was last queued
    query      text,                            -- what the source is asked for it; equal ones are asked once
    language   text,                            -- the first that is searched; then the one that answered
    ready      boolean not null default false,  -- all entities are there, and a task that scores it was made
    digest     bytea,                           -- of what was matched: tells a record that changed since
    entity     text,                            -- accepted, or the best candidate while it waits for review
    label      text,
    score      real,
    gap        real,
    decided_by text,                            -- null: by itself
    decided_at timestamptz,
    note       text,
    error      text,
    updated_at timestamptz not null default now(),
    unique (project_id, number)
);
create index records_listed on record_linking.records (project_id, state, number);
create index records_asked on record_linking.records (project_id, language, query) where state in (1, 2);
create index records_waiting on record_linking.records (query, language) where state = 2 and not ready;

create table record_linking.candidates (
    record_id   bigint not null references record_linking.records on delete cascade,
    rank        smallint not null,
    entity      text not null,
    label       text not null,
    description text,
    score       real not null,
    parts       jsonb not null,                 -- the waterfall: what each feature gave
    primary key (record_id, rank)
);

-- What happened to a record, newest last; undo goes back along it.
create table record_linking.decisions (
    id          bigint generated always as identity primary key,
    project_id  bigint not null references record_linking.projects on delete cascade,
    record_id   bigint not null references record_linking.records on delete cascade,
    batch       uuid not null,                  -- one for everything one call decided
    move        text not null,                  -- accept, reject, reopen, undo
    from_state  smallint not null,
    from_entity text,
    from_label  text,
    from_score  real,
    to_state    smallint not null,
    to_entity   text,
    by          text not null,
    at          timestamptz not null default now(),
    undone_at   timestamptz
);
create index decisions_of_record on record_linking.decisions (record_id, id);
create index decisions_of_project on record_linking.decisions (project_id, id);

-- What sources answered. Shared by all projects: equal names are asked once.
create table record_linking.searches (
    source     text not null,
    language   text not null,
    query      text not null,
    types      text not null default '',        -- only where the source searches by them
    ids        text[] not null,
    asked      smallint not null,               -- how many candidates were asked for
    scores     jsonb,                           -- id → what the source itself gave, where it does
    fetched_at timestamptz not null default now(),
    primary key (source, language, query, types)
);
-- Which answers wait for an entity that has come.
create index searches_naming on record_linking.searches using gin (ids);

-- fetched_at null: wanted, and not there yet or too old; `batch`: the task that fetches it. missing: the source says
-- that there is none.
create table record_linking.entities (
    source     text not null,
    id         text not null,
    data       jsonb,
    missing    boolean not null default false,
    moved_to   text,
    batch      bigint,
    wanted_at  timestamptz not null default now(),
    fetched_at timestamptz,
    primary key (source, id)
);
create index entities_wanted on record_linking.entities (source, wanted_at, id) where fetched_at is null and batch is null;
create index entities_batched on record_linking.entities (batch) where batch is not null;
