-- Places that are watched for files, and what was seen there.

create table penstock.sources (
    id             bigint generated always as identity primary key,
    name           text not null unique check (name ~ '^[a-z0-9][a-z0-9._-]{0,99}$'),
    kind           text not null check (kind in ('folder', 's3', 'ftp')),
    place          jsonb not null,              -- path; bucket, prefix, endpoint, region; host, port, path, tls
    pattern        text not null,
    owner          text not null,               -- of the jobs
    pipeline       text not null,
    options        jsonb not null default '{}', -- travel to the job, and say how its files are read
    after          text not null default 'keep' check (after in ('keep', 'move', 'delete')),
    target         text,                        -- of a move: a folder inside the place
    stable_seconds double precision not null,
    user_env       text,                        -- names of the variables that hold the login; never the login itself
    secret_env     text,
    enabled        boolean not null default true,
    scans          bigint not null default 0,   -- each scan takes the next number
    created_by     text not null,
    created_at     timestamptz not null default now(),
    scanned_at     timestamptz,                 -- last listing that was seen to its end
    problem        text,                        -- of the last scan
    check ((after = 'move') = (target is not null))
);
create index sources_owner on penstock.sources (owner, name);

-- One row per version of a file. A version is what a listing can tell apart; `key` is the hash of path and version,
-- because a path may be longer than an index takes.
create table penstock.sightings (
    id             bigint generated always as identity primary key,
    source_id      bigint not null references penstock.sources on delete cascade,
    key            bytea not null,
    path           text not null,
    version        text not null,
    size_bytes     bigint not null,
    state          text not null default 'seen'
                   check (state in ('seen', 'submitting', 'submitted', 'duplicate', 'refused', 'gone')),
    sha256         bytea,
    job_id         bigint,
    problem        text,
    tries          integer not null default 0,
    scan           bigint not null,             -- the last one that saw it, while it is not settled
    tried_scan     bigint,                      -- the last one that took it
    taken_until    timestamptz,
    first_seen_at  timestamptz not null default now(),
    settled_at     timestamptz,
    cleared_at     timestamptz,                 -- moved or deleted afterwards, or to be kept
    unique (source_id, key)
);
-- What the next scan has to look at; settled rows are not in it.
create index sightings_open on penstock.sightings (source_id, scan, id) where state in ('seen', 'submitting');
-- Each content once, whoever scans and whatever it is called.
create unique index sightings_content on penstock.sightings (source_id, sha256)
    where state in ('submitting', 'submitted');
create index sightings_newest on penstock.sightings (source_id, id);
create index sightings_uncleared on penstock.sightings (source_id, id)
    where cleared_at is null and state in ('submitted', 'duplicate');
