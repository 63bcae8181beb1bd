-- Brokers beside PostgreSQL, fan-in, and circuits at the limiter.

-- When the relay handed a waiting row to a broker; null: not yet, or to be sent again.
alter table penstock.queue add column sent_at timestamptz;
-- What was sent and nobody claimed. Rows of stages without a broker are never in it.
create index queue_sent on penstock.queue (sent_at) where sent_at is not null and worker is null;

-- One row: what messages of this database are told from those of another one by.
create table penstock.installation (
    id        uuid not null default gen_random_uuid(),
    singleton boolean primary key default true check (singleton)
);
insert into penstock.installation default values;

-- Who relays to which broker. Compare-and-set; whoever dies is followed by another one when the time is over.
create table penstock.relays (
    transport  text primary key,
    holder     uuid not null,
    held_until timestamptz not null
);

-- Messages nobody could read, collected from the brokers' dead-letter queues.
create table penstock.dead_messages (
    id          bigint generated always as identity primary key,
    transport   text not null,
    queue       text not null,
    raw         bytea not null,
    reason      text not null,
    deliveries  integer not null,
    died_at     timestamptz,
    arrived_at  timestamptz not null default now(),
    -- What a person did: sent again (as it was or edited), or left.
    replayed_at timestamptz,
    replayed_by text,
    edited      boolean not null default false,
    -- Of the bytes, so that a message that was collected twice is kept once.
    digest      bytea not null,
    token       text not null,
    unique (transport, token, digest)
);
create index dead_messages_open on penstock.dead_messages (id) where replayed_at is null;

-- A job may call back once when its last task has ended: {"pipeline", "arguments", "options"}.
alter table penstock.jobs add column callback jsonb, add column called_back_at timestamptz, add column callback_task bigint;
create index jobs_to_call_back on penstock.jobs (id) where callback is not null and called_back_at is null;

-- Circuits of limiter keys, for those who asked for one. Open since opened_at; probe_until: somebody tries it until then.
create table penstock.circuits (
    key           text primary key references penstock.limits on delete cascade,
    failure_limit integer not null check (failure_limit > 0),
    pause_seconds double precision not null check (pause_seconds > 0 and pause_seconds < 'infinity'),
    failures      integer not null default 0,
    opened_at     timestamptz,
    probe_until   timestamptz
);

-- One row: where limits are counted at present, agreed on by the whole fleet, or one budget would be granted twice.
create table penstock.limiter_store (
    store      text not null default 'postgres' check (store in ('postgres', 'redis')),
    number     bigint not null default 0,
    -- Moves in quick succession: each makes the way back to Redis longer.
    unsteady   integer not null default 0,
    changed_at timestamptz not null default '-infinity',
    singleton  boolean primary key default true check (singleton)
);
insert into penstock.limiter_store default values;
