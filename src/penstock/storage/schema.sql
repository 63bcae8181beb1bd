-- The schema after all migrations, as pg_dump shows it. Written by `make schema`; do not edit.

CREATE SCHEMA penstock;

CREATE FUNCTION penstock.enqueue(pipeline text, input jsonb DEFAULT '{}'::jsonb, priority integer DEFAULT 0, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, idempotency_key text DEFAULT NULL::text, unique_key text DEFAULT NULL::text, lane text DEFAULT NULL::text, owner text DEFAULT NULL::text, job_id bigint DEFAULT NULL::bigint, max_attempts integer DEFAULT NULL::integer, options jsonb DEFAULT NULL::jsonb, trace text DEFAULT NULL::text, notify boolean DEFAULT true, replaces bigint DEFAULT NULL::bigint, OUT task_id bigint, OUT created boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
declare
    first_stage penstock.stages;
    lane_id bigint;
    scoped_key text;
begin
    select s.* into first_stage from penstock.stages s
    where s.pipeline = enqueue.pipeline order by s.position limit 1;
    if not found then
        raise exception 'No task or pipeline is called "%".', enqueue.pipeline
            using errcode = 'PK001', hint = 'Check the name; open its application or start its worker once.';
    end if;
    -- By id: names may contain anything, so a name as prefix could collide with another name and key.
    scoped_key := first_stage.id || ':' || enqueue.unique_key;
    if enqueue.options is not null and (jsonb_typeof(enqueue.options) <> 'object'
            or coalesce(jsonb_typeof(enqueue.options -> 'timeout_seconds'), 'number') <> 'number'
            or coalesce(jsonb_typeof(enqueue.options -> 'max_attempts'), 'number') <> 'number') then
        raise exception 'The options % are not an object with numbers for timeout_seconds and max_attempts.',
            enqueue.options using errcode = 'PK005';
    end if;
    if octet_length(enqueue.input::text) > 65536 then
        raise exception 'The input is % bytes of JSON; at most 65536 are kept.', octet_length(enqueue.input::text)
            using errcode = 'PK002', hint = 'Store the data elsewhere and pass a reference to it.';
    end if;
    if enqueue.priority not between -100 and 100 then
        raise exception 'Priority % is out of range; -100 (first) to 100 (last) are possible.', enqueue.priority
            using errcode = 'PK004';
    end if;

    created := true;
    loop
        -- Same idempotency key, same task, for as long as the task is kept.
        if enqueue.idempotency_key is not null then
            select t.id into task_id from penstock.tasks t
            where t.entry = first_stage.id and t.idempotency_key = enqueue.idempotency_key;
            if found then created := false; return; end if;
        end if;
        -- Same unique key while one is waiting: that one will do.
        if scoped_key is not null then
            select q.task_id into task_id from penstock.queue q
            where q.unique_key = scoped_key and q.worker is null for key share;
            if found then created := false; return; end if;
        end if;

        lane_id := penstock.open_lane(
            enqueue.pipeline,
            -- A job never shares a lane: its counts are those of its lanes.
            coalesce(coalesce(enqueue.lane || ' ', '') || 'job:' || enqueue.job_id,
                     enqueue.lane, 'owner:' || enqueue.owner, 'default'),
            enqueue.priority, enqueue.owner, enqueue.job_id);
        -- Conflicts are looked at again instead of caught: catching would cost a subtransaction per task.
        insert into penstock.tasks (entry, job_id, owner, input, idempotency_key, options, trace, replaces)
        values (first_stage.id, enqueue.job_id, enqueue.owner, enqueue.input, enqueue.idempotency_key,
                enqueue.options, enqueue.trace, enqueue.replaces)
        on conflict (entry, idempotency_key) where idempotency_key is not null do nothing
        returning id into task_id;
        continue when task_id is null;
        insert into penstock.queue (task_id, lane, stage, run_at, max_attempts, unique_key)
        values (task_id, lane_id, first_stage.id, coalesce(enqueue.run_at, now()),
                coalesce(enqueue.max_attempts, first_stage.max_attempts), scoped_key)
        on conflict (unique_key) where unique_key is not null and worker is null do nothing;
        exit when found;
        delete from penstock.tasks t where t.id = task_id;
    end loop;

    insert into penstock.counts (lane, stage, state, n) values (lane_id, first_stage.id, 0, 1);
    if enqueue.notify and coalesce(enqueue.run_at, now()) <= now() then
        perform pg_notify('penstock_wake', enqueue.pipeline);
    end if;
end $$;

CREATE FUNCTION penstock.open_lane(pipeline text, key text, priority integer, owner text DEFAULT NULL::text, job_id bigint DEFAULT NULL::bigint, revive boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
declare
    found_id bigint;
    is_active boolean;
begin
    loop
        select l.id, l.active into found_id, is_active from penstock.lanes l
        where l.pipeline = open_lane.pipeline and l.key = open_lane.key and l.priority = open_lane.priority
          and l.cancelled_at is null
        for key share;
        if found then
            if not is_active then
                insert into penstock.wakes (lane) values (found_id);
            end if;
            return found_id;
        end if;
        if open_lane.job_id is not null then
            if revive then
                update penstock.jobs set cancelled_at = null, cancelled_by = null
                where id = open_lane.job_id and cancelled_at is not null;
            elsif exists (select from penstock.jobs j where j.id = open_lane.job_id and j.cancelled_at is not null) then
                raise exception 'Job % is cancelled; nothing can be added to it.', open_lane.job_id
                    using errcode = 'PK003', hint = 'Submit a new job.';
            end if;
        end if;
        -- A further priority of the same key, or lane of the same job, starts in the state of the first one.
        insert into penstock.lanes (pipeline, key, priority, owner, job_id, weight, max_running,
                                    paused_at, paused_by, pause_reason)
        select open_lane.pipeline, open_lane.key, open_lane.priority, open_lane.owner, open_lane.job_id,
               coalesce(first.weight, 1), first.max_running, coalesce(j.paused_at, first.paused_at),
               coalesce(j.paused_by, first.paused_by), coalesce(j.pause_reason, first.pause_reason)
        from (select) one
        left join penstock.jobs j on j.id = open_lane.job_id
        left join lateral (
            select l.weight, l.max_running, l.paused_at, l.paused_by, l.pause_reason from penstock.lanes l
            where l.cancelled_at is null
              and (l.job_id = open_lane.job_id or l.pipeline = open_lane.pipeline and l.key = open_lane.key)
            order by l.id limit 1) first on true
        on conflict (pipeline, key, priority) where cancelled_at is null do nothing;
    end loop;
end $$;

CREATE FUNCTION penstock.state_name(state smallint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (ARRAY['PENDING'::text, 'PROCESSING'::text, 'DONE'::text, 'ERROR'::text, 'NOT_FOUND'::text, 'SKIPPED'::text, 'CANCELLED'::text])[(state + 1)];

CREATE FUNCTION penstock.task_state(ended smallint, worker bigint, lane_cancelled_at timestamp with time zone) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (ended IS NOT NULL) THEN ended WHEN (worker IS NOT NULL) THEN (1)::smallint WHEN (lane_cancelled_at IS NOT NULL) THEN (6)::smallint ELSE (0)::smallint END;

CREATE TABLE penstock.attempts (
    task_id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    lease bigint,
    worker bigint,
    stage integer NOT NULL,
    run smallint NOT NULL,
    attempt smallint NOT NULL,
    burned boolean NOT NULL,
    cause text NOT NULL,
    error jsonb,
    next_run_at timestamp with time zone
);

CREATE TABLE penstock.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    actor text NOT NULL,
    ip text,
    action text NOT NULL,
    kind text,
    object text,
    owner text,
    request_id text,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    look boolean DEFAULT false NOT NULL
);

ALTER TABLE penstock.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.checkpoints (
    task_id bigint NOT NULL,
    stage integer NOT NULL,
    run smallint NOT NULL,
    version text,
    result jsonb,
    digest bytea,
    reused_from smallint,
    at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE penstock.circuits (
    key text NOT NULL,
    failure_limit integer NOT NULL,
    pause_seconds double precision NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    opened_at timestamp with time zone,
    probe_until timestamp with time zone,
    probe bigint DEFAULT 0 NOT NULL,
    probe_at_opening bigint DEFAULT 0 NOT NULL,
    CONSTRAINT circuits_failure_limit_check CHECK ((failure_limit > 0)),
    CONSTRAINT circuits_pause_seconds_check CHECK (((pause_seconds > (0)::double precision) AND (pause_seconds < 'Infinity'::double precision)))
);

CREATE TABLE penstock.counts (
    lane bigint NOT NULL,
    stage integer NOT NULL,
    state smallint NOT NULL,
    n bigint NOT NULL,
    folded boolean DEFAULT false NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');

CREATE TABLE penstock.dead_messages (
    id bigint NOT NULL,
    transport text NOT NULL,
    queue text NOT NULL,
    raw bytea NOT NULL,
    reason text NOT NULL,
    deliveries integer NOT NULL,
    died_at timestamp with time zone,
    arrived_at timestamp with time zone DEFAULT now() NOT NULL,
    replayed_at timestamp with time zone,
    replayed_by text,
    edited boolean DEFAULT false NOT NULL,
    digest bytea NOT NULL,
    token text NOT NULL
);

ALTER TABLE penstock.dead_messages ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.dead_messages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.duties (
    name text NOT NULL,
    due_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    ran_at timestamp with time zone,
    took_ms double precision,
    result jsonb,
    "position" jsonb
);

CREATE TABLE penstock.extension_migrations (
    extension text NOT NULL,
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE penstock.file_chunks (
    file_id bigint NOT NULL,
    number integer NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY penstock.file_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE penstock.files (
    id bigint NOT NULL,
    owner text NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    ip text,
    job_id bigint,
    size_bytes bigint,
    sha256 bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    stored_at timestamp with time zone
);

ALTER TABLE penstock.files ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.files_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.imports (
    job_id bigint NOT NULL,
    file_id bigint NOT NULL,
    task_id bigint,
    kind text NOT NULL,
    shape jsonb NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    rows_stored bigint DEFAULT 0 NOT NULL,
    bytes_read bigint DEFAULT 0 NOT NULL,
    batch_rows integer,
    batch_why text,
    problem jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT imports_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'storing'::text, 'stored'::text, 'failed'::text, 'cancelled'::text])))
);

CREATE TABLE penstock.installation (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    singleton boolean DEFAULT true NOT NULL,
    CONSTRAINT installation_singleton_check CHECK (singleton)
);

CREATE TABLE penstock.lanes (
    id bigint NOT NULL,
    pipeline text NOT NULL,
    key text NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    job_id bigint,
    owner text,
    weight smallint DEFAULT 1 NOT NULL,
    max_running integer,
    active boolean DEFAULT true NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    pause_reason text,
    cancelled_at timestamp with time zone,
    cancelled_by text,
    opened_at timestamp with time zone DEFAULT now() NOT NULL,
    rested_at timestamp with time zone,
    CONSTRAINT lanes_max_running_check CHECK ((max_running > 0)),
    CONSTRAINT lanes_priority_check CHECK (((priority >= '-100'::integer) AND (priority <= 100))),
    CONSTRAINT lanes_weight_check CHECK (((weight >= 1) AND (weight <= 100)))
);

CREATE TABLE penstock.outcomes (
    task_id bigint NOT NULL,
    job_id bigint,
    lane bigint NOT NULL,
    lease bigint,
    worker bigint,
    finished_at timestamp with time zone DEFAULT now() NOT NULL,
    stage integer NOT NULL,
    status smallint NOT NULL,
    attempts smallint NOT NULL,
    run smallint NOT NULL,
    version text,
    result jsonb,
    error jsonb,
    CONSTRAINT outcomes_status_check CHECK (((status >= 2) AND (status <= 6)))
);

CREATE TABLE penstock.queue (
    task_id bigint NOT NULL,
    lane bigint NOT NULL,
    lease bigint,
    worker bigint,
    run_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    stage integer NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    max_attempts smallint DEFAULT 3 NOT NULL,
    crashes smallint DEFAULT 0 NOT NULL,
    rescues smallint DEFAULT 0 NOT NULL,
    begun bigint,
    run smallint DEFAULT 1 NOT NULL,
    cancel_at timestamp with time zone,
    unique_key text,
    sent_at timestamp with time zone,
    hastened bigint
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_insert_scale_factor='0.2', autovacuum_vacuum_cost_delay='0', autovacuum_analyze_scale_factor='0.1', autovacuum_analyze_threshold='5000');

CREATE TABLE penstock.stages (
    id integer NOT NULL,
    pipeline text NOT NULL,
    name text NOT NULL,
    "position" smallint NOT NULL,
    max_attempts smallint DEFAULT 3 NOT NULL,
    max_running integer,
    policy jsonb DEFAULT '{}'::jsonb NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    pause_reason text,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    application text,
    CONSTRAINT stages_max_running_check CHECK ((max_running > 0))
);

CREATE TABLE penstock.tasks (
    id bigint NOT NULL,
    entry integer NOT NULL,
    job_id bigint,
    owner text,
    input jsonb NOT NULL,
    idempotency_key text,
    options jsonb,
    trace text,
    replaces bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE VIEW penstock.task_states AS
 SELECT t.id AS task_id,
    t.job_id,
    t.owner,
    s.pipeline,
    s.name AS stage,
    penstock.state_name(penstock.task_state(o.status, q.worker, l.cancelled_at)) AS state,
    (COALESCE(q.attempt, o.attempts))::integer AS attempts,
    (q.max_attempts)::integer AS max_attempts,
    (COALESCE(q.run, o.run))::integer AS run,
    COALESCE(q.lease, o.lease) AS lease,
    COALESCE(q.worker, o.worker) AS worker,
    q.run_at,
    COALESCE(q.updated_at, o.finished_at) AS updated_at,
    t.created_at,
    o.result,
    o.error,
    penstock.task_state(o.status, q.worker, l.cancelled_at) AS status,
    t.input,
    t.options,
    t.replaces,
    o.finished_at,
    (l.priority)::integer AS priority,
    s.id AS stage_id,
    t.entry AS entry_stage_id,
    COALESCE(((o.status = 5) AND ((o.error ->> 'type'::text) = 'Replaced'::text) AND (o.error ? 'task_id'::text)), false) AS replaced
   FROM ((((penstock.tasks t
     LEFT JOIN penstock.queue q ON ((q.task_id = t.id)))
     LEFT JOIN penstock.outcomes o ON ((o.task_id = t.id)))
     LEFT JOIN penstock.stages s ON ((s.id = COALESCE(q.stage, o.stage))))
     LEFT JOIN penstock.lanes l ON ((l.id = COALESCE(q.lane, o.lane))));

CREATE TABLE penstock.workers (
    id bigint NOT NULL,
    supervisor uuid NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    stages integer[] DEFAULT '{}'::integer[] NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    stopped_at timestamp with time zone,
    died_at timestamp with time zone,
    running bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    status jsonb DEFAULT '{}'::jsonb NOT NULL
)
WITH (fillfactor='50');

CREATE VIEW penstock.items AS
 SELECT s.task_id AS item_id,
    s.job_id,
    s.owner,
    s.pipeline,
    s.stage,
    s.state AS status,
    t.input AS input_json,
    (s.result -> 'normalized'::text) AS normalized_json,
    COALESCE((s.result -> 'columns'::text), s.result) AS result_json,
    s.attempts,
    s.error AS last_error,
    w.name AS locked_by,
        CASE
            WHEN (s.state = 'PROCESSING'::text) THEN s.updated_at
            ELSE NULL::timestamp with time zone
        END AS locked_at,
    s.updated_at,
    s.created_at
   FROM ((penstock.task_states s
     JOIN penstock.tasks t ON ((t.id = s.task_id)))
     LEFT JOIN penstock.workers w ON (((w.id = s.worker) AND (s.state = 'PROCESSING'::text))))
  WHERE (s.job_id IS NOT NULL);

CREATE TABLE penstock.jobs (
    id bigint NOT NULL,
    pipeline text NOT NULL,
    name text,
    owner text,
    idempotency_key text,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    pause_reason text,
    cancelled_at timestamp with time zone,
    cancelled_by text,
    deleted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    callback jsonb,
    called_back_at timestamp with time zone,
    callback_task bigint
);

CREATE VIEW penstock.job_states AS
 SELECT j.id AS job_id,
    j.pipeline,
    j.name,
    j.owner,
    j.metadata,
    j.created_at,
        CASE
            WHEN (j.cancelled_at IS NOT NULL) THEN 'CANCELLED'::text
            WHEN ((c.present <= 0) AND (NOT i.importing) AND ((c.total <> 0) OR i.import_failed OR (j.called_back_at IS NOT NULL))) THEN
            CASE
                WHEN ((c.error <> 0) OR i.import_failed) THEN 'FAILED'::text
                ELSE 'DONE'::text
            END
            WHEN (j.paused_at IS NOT NULL) THEN 'PAUSED'::text
            WHEN ((r.running > 0) OR (c.total <> c.present)) THEN 'RUNNING'::text
            ELSE 'QUEUED'::text
        END AS state,
    j.paused_at,
    j.paused_by,
    j.pause_reason,
    j.cancelled_at,
    j.cancelled_by,
    j.deleted_at,
    i.importing,
    c.total,
        CASE
            WHEN (j.cancelled_at IS NULL) THEN (c.present - r.running)
            ELSE (0)::bigint
        END AS pending,
    r.running AS processing,
    c.done,
    c.error,
    c.not_found,
    c.skipped,
    (c.cancelled +
        CASE
            WHEN (j.cancelled_at IS NULL) THEN (0)::bigint
            ELSE (c.present - r.running)
        END) AS cancelled
   FROM (((penstock.jobs j
     LEFT JOIN LATERAL ( SELECT (COALESCE(sum(
                CASE k.state
                    WHEN 0 THEN k.n
                    ELSE (- k.n)
                END), (0)::numeric))::bigint AS present,
            (COALESCE(sum(
                CASE k.state
                    WHEN 0 THEN k.n
                    WHEN 7 THEN (- k.n)
                    ELSE (0)::bigint
                END), (0)::numeric))::bigint AS total,
            (COALESCE(sum(k.n) FILTER (WHERE (k.state = 2)), (0)::numeric))::bigint AS done,
            (COALESCE(sum(k.n) FILTER (WHERE (k.state = 3)), (0)::numeric))::bigint AS error,
            (COALESCE(sum(k.n) FILTER (WHERE (k.state = 4)), (0)::numeric))::bigint AS not_found,
            (COALESCE(sum(k.n) FILTER (WHERE (k.state = 5)), (0)::numeric))::bigint AS skipped,
            (COALESCE(sum(k.n) FILTER (WHERE (k.state = 6)), (0)::numeric))::bigint AS cancelled
           FROM (penstock.lanes l
             JOIN penstock.counts k ON ((k.lane = l.id)))
          WHERE (l.job_id = j.id)) c ON (true))
     LEFT JOIN LATERAL ( SELECT count(*) AS running
           FROM ((penstock.lanes l
             JOIN penstock.stages s ON ((s.pipeline = l.pipeline)))
             JOIN penstock.queue q ON (((q.stage = s.id) AND (q.lane = l.id) AND (q.worker IS NOT NULL))))
          WHERE (l.job_id = j.id)) r ON (true))
     LEFT JOIN LATERAL ( SELECT COALESCE(bool_or(((m.state = ANY (ARRAY['waiting'::text, 'storing'::text])) AND (o.task_id IS NULL))), false) AS importing,
            COALESCE(bool_or(((m.state = 'failed'::text) OR ((m.state = ANY (ARRAY['waiting'::text, 'storing'::text])) AND (o.task_id IS NOT NULL)))), false) AS import_failed
           FROM (penstock.imports m
             LEFT JOIN penstock.outcomes o ON (((o.task_id = m.task_id) AND (o.status <> 2))))
          WHERE (m.job_id = j.id)) i ON (true));

ALTER TABLE penstock.jobs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW penstock.lane_states AS
 SELECT l.id AS lane_id,
    l.pipeline,
    l.key,
    (l.priority)::integer AS priority,
    l.job_id,
    l.owner,
    (l.weight)::integer AS weight,
    l.max_running,
    l.active,
    ((l.paused_at IS NOT NULL) OR (j.paused_at IS NOT NULL)) AS paused,
    ((l.cancelled_at IS NOT NULL) OR (j.cancelled_at IS NOT NULL) OR (j.deleted_at IS NOT NULL)) AS cancelled,
    l.opened_at
   FROM (penstock.lanes l
     LEFT JOIN penstock.jobs j ON ((j.id = l.job_id)));

ALTER TABLE penstock.lanes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.lanes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE SEQUENCE penstock.lease_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE penstock.limit_numbers
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE penstock.limits (
    key text NOT NULL,
    rate double precision,
    burst integer DEFAULT 1 NOT NULL,
    tat timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    blocked_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    blocked_reason text,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    version bigint DEFAULT nextval('penstock.limit_numbers'::regclass) NOT NULL,
    since bigint DEFAULT nextval('penstock.limit_numbers'::regclass) NOT NULL,
    penalties bigint DEFAULT 0 NOT NULL,
    penalised_at timestamp with time zone,
    penalty_reason text,
    CONSTRAINT limits_burst_check CHECK ((burst > 0)),
    CONSTRAINT limits_rate_check CHECK (((rate > (0)::double precision) AND (rate < 'Infinity'::double precision)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

CREATE VIEW penstock.limit_states AS
 SELECT key,
    rate,
    burst,
    NULLIF(blocked_until, '-infinity'::timestamp with time zone) AS blocked_until,
    (EXTRACT(epoch FROM (GREATEST(blocked_until, statement_timestamp()) - statement_timestamp())))::double precision AS blocked_seconds,
        CASE
            WHEN (blocked_until > statement_timestamp()) THEN blocked_reason
            ELSE NULL::text
        END AS blocked_reason,
        CASE
            WHEN (rate IS NOT NULL) THEN (floor(((burst)::double precision - (rate * (EXTRACT(epoch FROM (GREATEST(tat, statement_timestamp()) - statement_timestamp())))::double precision))))::bigint
            ELSE NULL::bigint
        END AS available,
    penalties,
    penalised_at,
    penalty_reason,
    updated_at
   FROM penstock.limits l
  WHERE ((rate IS NOT NULL) OR (blocked_until > '-infinity'::timestamp with time zone));

CREATE TABLE penstock.limiter_store (
    store text DEFAULT 'postgres'::text NOT NULL,
    number bigint DEFAULT 0 NOT NULL,
    unsteady integer DEFAULT 0 NOT NULL,
    changed_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    singleton boolean DEFAULT true NOT NULL,
    CONSTRAINT limiter_store_singleton_check CHECK (singleton),
    CONSTRAINT limiter_store_store_check CHECK ((store = ANY (ARRAY['postgres'::text, 'redis'::text])))
);

CREATE TABLE penstock.login_links (
    hash bytea NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);

CREATE TABLE penstock.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE penstock.preferences (
    name text NOT NULL,
    value jsonb NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE VIEW penstock.queued_tasks AS
 SELECT q.task_id,
    l.job_id,
    s.pipeline,
    s.name AS stage,
    q.stage AS stage_id,
    q.lane AS lane_id,
    penstock.task_state(NULL::smallint, q.worker, l.cancelled_at) AS status,
    penstock.state_name(penstock.task_state(NULL::smallint, q.worker, l.cancelled_at)) AS state,
    (q.worker IS NOT NULL) AS running,
    (l.cancelled_at IS NOT NULL) AS cancelled,
    q.worker,
    q.lease,
    (q.attempt)::integer AS attempts,
    (q.max_attempts)::integer AS max_attempts,
    (q.run)::integer AS run,
    q.run_at,
    q.updated_at,
    t.owner,
    t.input
   FROM (((penstock.queue q
     LEFT JOIN penstock.lanes l ON ((l.id = q.lane)))
     LEFT JOIN penstock.stages s ON ((s.id = q.stage)))
     LEFT JOIN penstock.tasks t ON ((t.id = q.task_id)));

CREATE TABLE penstock.relays (
    transport text NOT NULL,
    holder uuid NOT NULL,
    held_until timestamp with time zone NOT NULL
);

CREATE TABLE penstock.schedules (
    name text NOT NULL,
    cron text NOT NULL,
    timezone text DEFAULT 'UTC'::text NOT NULL,
    pipeline text NOT NULL,
    input jsonb DEFAULT '{}'::jsonb NOT NULL,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    missed text DEFAULT 'one'::text NOT NULL,
    declared boolean DEFAULT false NOT NULL,
    source text,
    paused_at timestamp with time zone,
    paused_by text,
    last_fire_at timestamp with time zone,
    next_fire_at timestamp with time zone,
    last_task_id bigint,
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT schedules_missed_check CHECK ((missed = ANY (ARRAY['one'::text, 'all'::text, 'skip'::text])))
);

CREATE TABLE penstock.secrets (
    name text NOT NULL,
    value bytea NOT NULL
);

CREATE TABLE penstock.selections (
    id bigint NOT NULL,
    owner text NOT NULL,
    filter jsonb DEFAULT '{}'::jsonb NOT NULL,
    picked bigint[],
    left_out bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    n bigint NOT NULL,
    estimate boolean NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone
);

ALTER TABLE penstock.selections ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.selections_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.sessions (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    hash bytea NOT NULL,
    ip text,
    agent text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE penstock.sessions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.sightings (
    id bigint NOT NULL,
    source_id bigint NOT NULL,
    key bytea NOT NULL,
    path text NOT NULL,
    version text NOT NULL,
    size_bytes bigint NOT NULL,
    state text DEFAULT 'seen'::text NOT NULL,
    sha256 bytea,
    job_id bigint,
    problem text,
    tries integer DEFAULT 0 NOT NULL,
    scan bigint NOT NULL,
    tried_scan bigint,
    taken_until timestamp with time zone,
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    settled_at timestamp with time zone,
    cleared_at timestamp with time zone,
    CONSTRAINT sightings_state_check CHECK ((state = ANY (ARRAY['seen'::text, 'submitting'::text, 'submitted'::text, 'duplicate'::text, 'refused'::text, 'gone'::text])))
);

ALTER TABLE penstock.sightings ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.sightings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.sources (
    id bigint NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    place jsonb NOT NULL,
    pattern text NOT NULL,
    owner text NOT NULL,
    pipeline text NOT NULL,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    after text DEFAULT 'keep'::text NOT NULL,
    target text,
    stable_seconds double precision NOT NULL,
    user_env text,
    secret_env text,
    enabled boolean DEFAULT true NOT NULL,
    scans bigint DEFAULT 0 NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    scanned_at timestamp with time zone,
    problem text,
    CONSTRAINT sources_after_check CHECK ((after = ANY (ARRAY['keep'::text, 'move'::text, 'delete'::text]))),
    CONSTRAINT sources_check CHECK (((after = 'move'::text) = (target IS NOT NULL))),
    CONSTRAINT sources_kind_check CHECK ((kind = ANY (ARRAY['folder'::text, 's3'::text, 'ftp'::text]))),
    CONSTRAINT sources_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._-]{0,99}$'::text))
);

ALTER TABLE penstock.sources ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.sources_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW penstock.stage_load AS
 SELECT id AS stage_id,
    pipeline,
    name AS stage,
    ("position")::integer AS "position",
    application,
    (max_attempts)::integer AS max_attempts,
    max_running,
    (paused_at IS NOT NULL) AS paused,
    paused_at,
    paused_by,
    pause_reason,
    ( SELECT count(*) AS count
           FROM penstock.queue q
          WHERE ((q.stage = s.id) AND (q.worker IS NOT NULL))) AS running,
    (COALESCE(( SELECT sum(
                CASE c.state
                    WHEN 0 THEN c.n
                    ELSE (- c.n)
                END) AS sum
           FROM (penstock.lanes l
             JOIN penstock.counts c ON (((c.lane = l.id) AND (c.stage = s.id))))
          WHERE ((l.pipeline = s.pipeline) AND l.active AND (l.cancelled_at IS NULL))), (0)::numeric))::bigint AS unfinished,
    (EXISTS ( SELECT
           FROM penstock.workers w
          WHERE ((s.id = ANY (w.stages)) AND (w.stopped_at IS NULL) AND (w.died_at IS NULL) AND (w.lease_until >= now())))) AS served
   FROM penstock.stages s;

CREATE TABLE penstock.statistics (
    stage integer NOT NULL,
    minute timestamp with time zone NOT NULL,
    state smallint NOT NULL,
    n bigint NOT NULL
);

CREATE VIEW penstock.stage_minutes AS
 SELECT m.stage AS stage_id,
    s.pipeline,
    s.name AS stage,
    m.minute,
        CASE
            WHEN ((m.state >= 2) AND (m.state <= 6)) THEN m.state
            ELSE NULL::smallint
        END AS status,
        CASE
            WHEN (m.state = 0) THEN m.n
            ELSE (0)::bigint
        END AS arrived,
        CASE
            WHEN ((m.state >= 2) AND (m.state <= 6)) THEN m.n
            ELSE (0)::bigint
        END AS ended,
        CASE
            WHEN (m.state = 20) THEN m.n
            ELSE (0)::bigint
        END AS runs,
        CASE
            WHEN (m.state = 21) THEN m.n
            ELSE (0)::bigint
        END AS retries,
        CASE
            WHEN (m.state = 22) THEN m.n
            ELSE (0)::bigint
        END AS run_ms
   FROM (penstock.statistics m
     LEFT JOIN penstock.stages s ON ((s.id = m.stage)))
  WHERE (m.state < 30);

CREATE VIEW penstock.stage_results AS
 SELECT c.task_id,
    s.pipeline,
    s.name AS stage,
    (s."position")::integer AS stage_position,
    (c.run)::integer AS run,
    c.version,
    (c.reused_from)::integer AS reused_from,
    c.at,
    c.result
   FROM (penstock.checkpoints c
     LEFT JOIN penstock.stages s ON ((s.id = c.stage)));

ALTER TABLE penstock.stages ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.stages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW penstock.task_counts AS
 SELECT l.job_id,
    l.pipeline,
    s.name AS stage,
    (s."position")::integer AS stage_position,
    c.stage AS stage_id,
    c.lane AS lane_id,
    (l.cancelled_at IS NOT NULL) AS lane_cancelled,
    (
        CASE
            WHEN ((c.state >= 2) AND (c.state <= 6)) THEN (c.state)::integer
            WHEN ((c.state >= 12) AND (c.state <= 16)) THEN (c.state - 10)
            ELSE NULL::integer
        END)::smallint AS status,
        CASE c.state
            WHEN 0 THEN c.n
            ELSE (- c.n)
        END AS unfinished,
        CASE
            WHEN ((c.state >= 2) AND (c.state <= 6)) THEN c.n
            ELSE (0)::bigint
        END AS ended,
        CASE
            WHEN ((c.state >= 2) AND (c.state <= 6)) THEN c.n
            WHEN ((c.state >= 12) AND (c.state <= 16)) THEN (- c.n)
            ELSE (0)::bigint
        END AS kept,
    c.folded,
    c.at
   FROM ((penstock.counts c
     LEFT JOIN penstock.lanes l ON ((l.id = c.lane)))
     LEFT JOIN penstock.stages s ON ((s.id = c.stage)));

CREATE VIEW penstock.task_history AS
 SELECT a.task_id,
    a.at,
    s.pipeline,
    s.name AS stage,
    (a.run)::integer AS run,
    (a.attempt)::integer AS attempt,
    a.lease,
    a.worker,
    a.cause,
    a.burned,
    a.error,
    a.next_run_at
   FROM (penstock.attempts a
     LEFT JOIN penstock.stages s ON ((s.id = a.stage)));

CREATE VIEW penstock.task_outcomes AS
 SELECT o.task_id,
    o.job_id,
    s.pipeline,
    s.name AS stage,
    (s."position")::integer AS stage_position,
    o.stage AS stage_id,
    o.status,
    penstock.state_name(o.status) AS state,
    (o.attempts)::integer AS attempts,
    (o.run)::integer AS run,
    o.worker,
    o.lease,
    o.version,
    o.finished_at,
    o.result,
    o.error,
    t.owner,
    t.input
   FROM ((penstock.outcomes o
     LEFT JOIN penstock.stages s ON ((s.id = o.stage)))
     LEFT JOIN penstock.tasks t ON ((t.id = o.task_id)));

ALTER TABLE penstock.tasks ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME penstock.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.tokens (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    hint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone
);

ALTER TABLE penstock.tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.users (
    id bigint NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    disabled_at timestamp with time zone,
    password_hash text,
    password_changed_at timestamp with time zone,
    CONSTRAINT users_name_check CHECK ((name ~ '^[a-z0-9][a-z0-9._@-]{0,99}$'::text)),
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text])))
);

ALTER TABLE penstock.users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE penstock.wakes (
    lane bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='500');

CREATE VIEW penstock.worker_states AS
 SELECT id AS worker_id,
    name,
    host,
    pid,
    version,
    stages AS stage_ids,
    started_at,
    heartbeat_at,
    stopped_at,
    died_at,
    ((stopped_at IS NULL) AND (died_at IS NULL) AND (lease_until >= now())) AS live
   FROM penstock.workers w;

ALTER TABLE penstock.workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME penstock.workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY penstock.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (task_id, stage, run);

ALTER TABLE ONLY penstock.circuits
    ADD CONSTRAINT circuits_pkey PRIMARY KEY (key);

ALTER TABLE ONLY penstock.dead_messages
    ADD CONSTRAINT dead_messages_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.dead_messages
    ADD CONSTRAINT dead_messages_transport_token_digest_key UNIQUE (transport, token, digest);

ALTER TABLE ONLY penstock.duties
    ADD CONSTRAINT duties_pkey PRIMARY KEY (name);

ALTER TABLE ONLY penstock.extension_migrations
    ADD CONSTRAINT extension_migrations_pkey PRIMARY KEY (extension, version);

ALTER TABLE ONLY penstock.file_chunks
    ADD CONSTRAINT file_chunks_pkey PRIMARY KEY (file_id, number);

ALTER TABLE ONLY penstock.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY penstock.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY penstock.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.lanes
    ADD CONSTRAINT lanes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.limiter_store
    ADD CONSTRAINT limiter_store_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY penstock.limits
    ADD CONSTRAINT limits_pkey PRIMARY KEY (key);

ALTER TABLE ONLY penstock.login_links
    ADD CONSTRAINT login_links_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY penstock.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY penstock.outcomes
    ADD CONSTRAINT outcomes_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY penstock.preferences
    ADD CONSTRAINT preferences_pkey PRIMARY KEY (name);

ALTER TABLE ONLY penstock.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (task_id);

ALTER TABLE ONLY penstock.relays
    ADD CONSTRAINT relays_pkey PRIMARY KEY (transport);

ALTER TABLE ONLY penstock.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (name);

ALTER TABLE ONLY penstock.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (name);

ALTER TABLE ONLY penstock.selections
    ADD CONSTRAINT selections_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.sessions
    ADD CONSTRAINT sessions_hash_key UNIQUE (hash);

ALTER TABLE ONLY penstock.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.sightings
    ADD CONSTRAINT sightings_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.sightings
    ADD CONSTRAINT sightings_source_id_key_key UNIQUE (source_id, key);

ALTER TABLE ONLY penstock.sources
    ADD CONSTRAINT sources_name_key UNIQUE (name);

ALTER TABLE ONLY penstock.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.stages
    ADD CONSTRAINT stages_pipeline_name_key UNIQUE (pipeline, name);

ALTER TABLE ONLY penstock.stages
    ADD CONSTRAINT stages_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.statistics
    ADD CONSTRAINT statistics_pkey PRIMARY KEY (minute, stage, state);

ALTER TABLE ONLY penstock.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.tokens
    ADD CONSTRAINT tokens_hash_key UNIQUE (hash);

ALTER TABLE ONLY penstock.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.users
    ADD CONSTRAINT users_name_key UNIQUE (name);

ALTER TABLE ONLY penstock.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY penstock.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX attempts_task ON penstock.attempts USING btree (task_id, at);

CREATE INDEX attempts_version_skew ON penstock.attempts USING btree (at) WHERE (cause = 'version skew'::text);

CREATE INDEX audit_actor ON penstock.audit USING btree (actor, id);

CREATE INDEX audit_age ON penstock.audit USING btree (at);

CREATE INDEX audit_object ON penstock.audit USING btree (kind, object, id);

CREATE INDEX audit_owner ON penstock.audit USING btree (owner, id) WHERE (owner IS NOT NULL);

CREATE INDEX counts_lane ON penstock.counts USING btree (lane, stage, state);

CREATE INDEX counts_unfolded ON penstock.counts USING btree (at) WHERE (NOT folded);

CREATE INDEX dead_messages_open ON penstock.dead_messages USING btree (id) WHERE (replayed_at IS NULL);

CREATE INDEX files_content ON penstock.files USING btree (owner, sha256) WHERE (stored_at IS NOT NULL);

CREATE INDEX files_job ON penstock.files USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE INDEX files_unfinished ON penstock.files USING btree (created_at) WHERE (job_id IS NULL);

CREATE INDEX imports_file ON penstock.imports USING btree (file_id);

CREATE INDEX imports_open ON penstock.imports USING btree (job_id) WHERE (state = ANY (ARRAY['waiting'::text, 'storing'::text]));

CREATE INDEX jobs_deleted ON penstock.jobs USING btree (id) WHERE (deleted_at IS NOT NULL);

CREATE UNIQUE INDEX jobs_idempotency ON penstock.jobs USING btree (pipeline, idempotency_key) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX jobs_owner ON penstock.jobs USING btree (owner, id);

CREATE INDEX jobs_to_call_back ON penstock.jobs USING btree (id) WHERE ((callback IS NOT NULL) AND (called_back_at IS NULL));

CREATE INDEX lanes_active ON penstock.lanes USING btree (pipeline, priority, id) WHERE active;

CREATE INDEX lanes_cancelled ON penstock.lanes USING btree (id) WHERE ((cancelled_at IS NOT NULL) AND active);

CREATE INDEX lanes_job ON penstock.lanes USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE UNIQUE INDEX lanes_key ON penstock.lanes USING btree (pipeline, key, priority) WHERE (cancelled_at IS NULL);

CREATE INDEX lanes_owner ON penstock.lanes USING btree (owner, id) WHERE (active AND (owner IS NOT NULL));

CREATE INDEX lanes_paused ON penstock.lanes USING btree (id) WHERE ((paused_at IS NOT NULL) AND active);

CREATE INDEX lanes_rested ON penstock.lanes USING btree (rested_at) WHERE ((NOT active) AND (job_id IS NULL));

CREATE INDEX outcomes_age ON penstock.outcomes USING brin (finished_at) WITH (pages_per_range='32', autosummarize='on');

CREATE INDEX outcomes_dead ON penstock.outcomes USING btree (finished_at, task_id) WHERE (status = 3);

CREATE INDEX outcomes_job ON penstock.outcomes USING btree (job_id, status, finished_at, task_id) WHERE (job_id IS NOT NULL);

CREATE INDEX queue_cancel ON penstock.queue USING btree (worker) WHERE (cancel_at IS NOT NULL);

CREATE INDEX queue_leased ON penstock.queue USING btree (stage, lane) WHERE (worker IS NOT NULL);

CREATE INDEX queue_listed ON penstock.queue USING btree (lane, updated_at, task_id) WHERE (worker IS NULL);

CREATE INDEX queue_ready ON penstock.queue USING btree (stage, lane, run_at, task_id) WHERE (worker IS NULL);

CREATE INDEX queue_sent ON penstock.queue USING btree (sent_at) WHERE ((sent_at IS NOT NULL) AND (worker IS NULL));

CREATE UNIQUE INDEX queue_unique ON penstock.queue USING btree (unique_key) WHERE ((unique_key IS NOT NULL) AND (worker IS NULL));

CREATE INDEX schedules_due ON penstock.schedules USING btree (next_fire_at) WHERE (paused_at IS NULL);

CREATE INDEX selections_expired ON penstock.selections USING btree (expires_at);

CREATE INDEX selections_unused ON penstock.selections USING btree (owner, id) WHERE (used_at IS NULL);

CREATE INDEX sessions_age ON penstock.sessions USING btree (expires_at);

CREATE INDEX sessions_user ON penstock.sessions USING btree (user_id);

CREATE UNIQUE INDEX sightings_content ON penstock.sightings USING btree (source_id, sha256) WHERE (state = ANY (ARRAY['submitting'::text, 'submitted'::text]));

CREATE INDEX sightings_newest ON penstock.sightings USING btree (source_id, id);

CREATE INDEX sightings_open ON penstock.sightings USING btree (source_id, scan, id) WHERE (state = ANY (ARRAY['seen'::text, 'submitting'::text]));

CREATE INDEX sightings_uncleared ON penstock.sightings USING btree (source_id, id) WHERE ((cleared_at IS NULL) AND (state = ANY (ARRAY['submitted'::text, 'duplicate'::text])));

CREATE INDEX sources_owner ON penstock.sources USING btree (owner, name);

CREATE INDEX tasks_edited ON penstock.tasks USING btree (job_id, id) WHERE (replaces IS NOT NULL);

CREATE UNIQUE INDEX tasks_idempotency ON penstock.tasks USING btree (entry, idempotency_key) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX tasks_job ON penstock.tasks USING btree (job_id, id) WHERE (job_id IS NOT NULL);

CREATE INDEX tokens_user ON penstock.tokens USING btree (user_id);

CREATE INDEX workers_live ON penstock.workers USING btree (lease_until) WHERE ((stopped_at IS NULL) AND (died_at IS NULL));

ALTER TABLE ONLY penstock.circuits
    ADD CONSTRAINT circuits_key_fkey FOREIGN KEY (key) REFERENCES penstock.limits(key) ON DELETE CASCADE;

ALTER TABLE ONLY penstock.file_chunks
    ADD CONSTRAINT file_chunks_file_id_fkey FOREIGN KEY (file_id) REFERENCES penstock.files(id) ON DELETE CASCADE;

ALTER TABLE ONLY penstock.login_links
    ADD CONSTRAINT login_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES penstock.users(id);

ALTER TABLE ONLY penstock.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES penstock.users(id);

ALTER TABLE ONLY penstock.sightings
    ADD CONSTRAINT sightings_source_id_fkey FOREIGN KEY (source_id) REFERENCES penstock.sources(id) ON DELETE CASCADE;

ALTER TABLE ONLY penstock.tokens
    ADD CONSTRAINT tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES penstock.users(id);
