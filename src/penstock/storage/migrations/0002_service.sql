-- The HTTP service: who may do what and what they did, the files they sent, and how far those are stored as rows.

-- Objects belong to a user by name, so names are never changed and never given to somebody else.
create table penstock.users (
    id          bigint generated always as identity primary key,
    name        text not null unique check (name ~ '^[a-z0-9][a-z0-9._@-]{0,99}$'),
    role        text not null check (role in ('viewer', 'operator', 'admin')),
    created_at  timestamptz not null default now(),
    disabled_at timestamptz
);

-- Only hashes: a token is 256 random bits and shown once, so a plain SHA-256 cannot be guessed back.
create table penstock.tokens (
    id           bigint generated always as identity primary key,
    user_id      bigint not null references penstock.users,
    name         text not null,
    hash         bytea not null unique,
    hint         text not null,                -- its first characters, so that people can tell tokens apart
    created_at   timestamptz not null default now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
create index tokens_user on penstock.tokens (user_id);

create table penstock.sessions (
    id         bigint generated always as identity primary key,
    user_id    bigint not null references penstock.users,
    hash       bytea not null unique,
    ip         text,
    agent      text,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    revoked_at timestamptz
);
create index sessions_user on penstock.sessions (user_id);
create index sessions_age on penstock.sessions (expires_at);

create table penstock.login_links (
    hash       bytea primary key,
    user_id    bigint not null references penstock.users,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz
);

-- What all processes of the service share, such as the key that signs cursors. Made when it is first needed.
create table penstock.secrets (
    name  text primary key,
    value bytea not null
);

-- Who did what, from where. Only appended.
create table penstock.audit (
    id         bigint generated always as identity primary key,
    at         timestamptz not null default now(),
    actor      text not null,
    ip         text,
    action     text not null,
    kind       text,                            -- of the object: job, task, stage, user, …
    object     text,
    owner      text,                            -- whose object it was, where it has an owner
    request_id text,
    details    jsonb not null default '{}'
);
create index audit_actor on penstock.audit (actor, id);
create index audit_object on penstock.audit (kind, object, id);
create index audit_owner on penstock.audit (owner, id) where owner is not null;

-- Files as they were sent. In the database, so that every machine of a fleet reads them and one backup holds them.
create table penstock.files (
    id         bigint generated always as identity primary key,
    owner      text not null,
    name       text not null,
    media_type text not null,
    ip         text,
    job_id     bigint,                          -- goes when this job goes
    size_bytes bigint,
    sha256     bytea,
    created_at timestamptz not null default now(),
    stored_at  timestamptz                      -- null: the upload has not ended, or was cut
);
create index files_content on penstock.files (owner, sha256) where stored_at is not null;
create index files_job on penstock.files (job_id) where job_id is not null;
create index files_unfinished on penstock.files (created_at) where job_id is null;

create table penstock.file_chunks (
    file_id bigint not null references penstock.files on delete cascade,
    number  integer not null,
    data    bytea not null,
    primary key (file_id, number)
);
-- Files are mostly compressed already, or read whole: not worth the time of compressing.
alter table penstock.file_chunks alter column data set storage external;

-- How far a job's file is stored as rows. `rows_stored` moves in the transaction that stores the rows, so an import
-- that is killed goes on behind the last row that is there.
create table penstock.imports (
    job_id      bigint primary key,
    file_id     bigint not null,
    task_id     bigint,                         -- the task that does it
    kind        text not null,                  -- csv, xlsx, images
    shape       jsonb not null,                 -- how the file is read: encoding, delimiter, sheet, …
    state       text not null default 'waiting' check (state in ('waiting', 'storing', 'stored', 'failed', 'cancelled')),
    rows_stored bigint not null default 0,
    bytes_read  bigint not null default 0,
    batch_rows  integer,                        -- how many rows the last batch had, and why
    batch_why   text,
    problem     jsonb,
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now()
);
create index imports_file on penstock.imports (file_id);
create index imports_open on penstock.imports (job_id) where state in ('waiting', 'storing');

-- A job's tasks as people know them, for whoever reads with SQL. Pages of them come from sql/items.sql.
create view penstock.items as
select s.task_id as item_id, s.job_id, s.owner, s.pipeline, s.stage, s.state as status, t.input as input_json,
       s.result -> 'normalized' as normalized_json, coalesce(s.result -> 'columns', s.result) as result_json,
       s.attempts, s.error as last_error, w.name as locked_by,
       case when s.state = 'PROCESSING' then s.updated_at end as locked_at, s.updated_at, s.created_at
from penstock.task_states s
join penstock.tasks t on t.id = s.task_id
left join penstock.workers w on w.id = s.worker and s.state = 'PROCESSING'
where s.job_id is not null;
