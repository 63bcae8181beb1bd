"""Guards around the tasks: workers, rescue, lanes, limits, reprocess, and the functions of the schema."""

from tests.mutants.catalogue import FLEET, LANE_RETENTION, VIEWS, Mutant, in_query

_QUEUE = "storage/sql/queue.sql"
_WORKERS = "storage/sql/workers.sql"
_LANES = "storage/sql/lanes.sql"
_OUTCOMES = "storage/sql/outcomes.sql"
_SCHEMA = "storage/migrations/0001_engine.sql"
_VIEWS = "storage/migrations/0018_views.sql"
_WAITING_ROW = "join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is null"
_LEASED_ROW = "join penstock.queue q on q.stage = s.id and q.lane = l.id and q.worker is not null"

FLEET_GUARDS: list[Mutant] = [
    *in_query(
        _WORKERS,
        "heartbeat",
        FLEET,
        [
            ("accepts the dead", "and w.died_at is null", ""),
            ("accepts the stopped", "and w.stopped_at is null", ""),
            (
                "renews nothing",
                "lease_until = now() + $2 * interval '1 second'",
                "lease_until = lease_until + $2 * interval '0'",
            ),
        ],
    ),
    *in_query(
        _WORKERS,
        "declare_dead",
        FLEET,
        [
            ("takes the living", "lease_until < now() and", ""),
            ("takes the stopped", "stopped_at is null and", ""),
            ("takes the dead again", "and died_at is null", ""),
        ],
    ),
    *in_query(_WORKERS, "forget", FLEET, [("forgets holders", "and q.worker = w.id)", "and false)")]),
    *in_query(
        _QUEUE,
        "holders_gone",
        FLEET,
        [
            ("misses the dead", "or w.died_at is not null", ""),
            ("misses the stopped", "or w.stopped_at is not null", ""),
            ("misses the unknown", "w.id is null or", ""),
            ("takes the living", "(w.id is null or w.died_at is not null or w.stopped_at is not null)", "true"),
        ],
    ),
    *in_query(
        _QUEUE,
        "leases_to_rescue",
        FLEET,
        [
            ("believes that all ran", "coalesce(q.lease = any (w.running), false) as ran", "true as ran"),
            ("believes that none ran", "coalesce(q.lease = any (w.running), false) as ran", "false as ran"),
            ("believes what an earlier lease ran", "q.lease = any (w.running)", "q.lease >= any (w.running)"),
        ],
    ),
    *in_query(_QUEUE, "lock_limited_stages", FLEET, [("locks nothing", "for no key update", "")]),
    *in_query(_QUEUE, "lock_limited_lanes", FLEET, [("locks nothing", "for no key update of l", "")]),
    *in_query(_QUEUE, "count_leased", FLEET, [("counts what waits", "and worker is not null", "")]),
    *in_query(_LANES, "lock_idle_candidates", FLEET, [("locks nothing", "for update of l skip locked", "")]),
    *in_query(
        _LANES, "served", FLEET, [("forgets woken lanes", "or id = any (array(select lane from penstock.wakes))", "")]
    ),
    *in_query(
        _LANES,
        "activate_woken",
        FLEET,
        [("takes the wake and leaves the lane off", "set active = true", "set active = active")],
    ),
    *in_query(_LANES, "activate_stranded", FLEET, [("leaves it off", "set active = true", "set active = active")]),
    *in_query(
        _LANES,
        "follow_jobs",
        FLEET,
        [
            ("forgets a cancel", "k.cancelled_at is not null or", ""),
            ("forgets a pause", "or (k.paused_at is null) <> (l.paused_at is null)", ""),
            ("forgets a resume", "(k.paused_at is null) <> (l.paused_at is null)", "k.paused_at > l.opened_at"),
        ],
    ),
    *in_query(
        _LANES,
        "deactivate",
        FLEET,
        [
            ("does not see waiting rows", _WAITING_ROW, f"{_WAITING_ROW} and false"),
            ("does not see leased rows", _LEASED_ROW, f"{_LEASED_ROW} and false"),
        ],
    ),
    *in_query(
        _LANES,
        "lock_expired",
        LANE_RETENTION,
        [
            ("locks nothing", "for update of l skip locked", ""),
            ("takes what rests since yesterday", "and l.rested_at < now() - $1 * interval '1 second'", "and $1 > 0"),
            ("takes lanes of jobs", "and l.job_id is null", ""),
            ("forgets a person's pause", "l.paused_at is null and", ""),
        ],
    ),
    *in_query(
        _LANES,
        "expire",
        LANE_RETENTION,
        [
            ("takes what is in use again", "and not l.active", ""),
            ("does not see a wake", "w.lane = l.id", "w.lane = l.id and false"),
            ("does not see what is to be folded", "and not c.folded", "and false"),
            ("does not see waiting rows", _WAITING_ROW, f"{_WAITING_ROW} and false"),
            ("does not see leased rows", _LEASED_ROW, f"{_LEASED_ROW} and false"),
            ("leaves the counts", "array(select id from gone)", "array(select id from gone where false)"),
        ],
    ),
    *in_query(
        _OUTCOMES,
        "reprocess",
        FLEET,
        [
            ("takes every state", "and o.status = any ($2::smallint[])", "and $2::smallint[] is not null"),
            ("restarts the lease numbers", "run + 1, lease\n", "run + 1, null\n"),
            ("keeps the count of the ending", "status, -count(*) from placed", "status, 0 * count(*) from placed"),
            ("notes nothing", "'error', error)\n    from placed", "'error', error)\n    from placed where false"),
            ("stays in the cancelled lane", "select task_id, new_lane, target", "select task_id, lane, target"),
        ],
    ),
    Mutant(
        name="open_lane: does not hold the lane",
        file=_SCHEMA,
        text="          and l.cancelled_at is null\n        for key share;",
        becomes="          and l.cancelled_at is null;",
        tests=FLEET,
    ),
    Mutant(
        name="open_lane: does not wake the lane",
        file=_SCHEMA,
        text="insert into penstock.wakes (lane) values (found_id);",
        becomes="null;",
        tests=FLEET,
    ),
    Mutant(
        name="enqueue: does not hold the task it answers with",
        file=_SCHEMA,
        text="and q.worker is null for key share;",
        becomes="and q.worker is null;",
        tests=FLEET,
    ),
    Mutant(
        name="task_state: shows what waits in a cancelled lane as waiting",
        file=_VIEWS,
        text="when lane_cancelled_at is not null then 6::smallint ",
        tests=VIEWS,
    ),
    Mutant(
        name="job_states: takes a job for done while its file is stored",
        file=_VIEWS,
        text=" and not i.importing",
        tests=VIEWS,
    ),
    Mutant(
        name="stage_load: takes a dead worker for a live one",
        file=_VIEWS,
        text=" and w.lease_until >= now()) as served",
        becomes=") as served",
        tests=VIEWS,
    ),
    Mutant(
        name="Claimer: forgets what others run",
        file="core/claim.py",
        text="limit - _sum(leased, stage=stage) for stage",
        becomes="limit for stage",
        tests=FLEET,
    ),
    Mutant(
        name="Rescue: takes only from those it declared dead itself",
        file="upkeep/duties.py",
        text="for worker in await queue.holders_gone(connection):",
        becomes="for worker in ():",
        tests=FLEET,
    ),
    Mutant(
        name="Rescue: takes what ran for a crash that somebody saw",
        file="upkeep/duties.py",
        text="rescued=True,",
        becomes="burned=held.ran, crashed=held.ran, rescued=not held.ran,",
        tests=FLEET,
    ),
]
