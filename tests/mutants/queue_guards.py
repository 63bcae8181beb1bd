"""Guards of the statements that move a task (``sql/queue.sql``), each taken away or turned."""

from tests.mutants.catalogue import FLEET, STATEMENTS, Mutant, in_query

_QUEUE = "storage/sql/queue.sql"
_HASTEN = ("tests/storage/test_hasten.py",)
_NUMBER = "lease = nextval('penstock.lease_numbers')"
_SAME_NUMBER = "lease = coalesce(lease, nextval('penstock.lease_numbers'))"

QUEUE_GUARDS: list[Mutant] = [
    *in_query(
        _QUEUE,
        "claim",
        STATEMENTS,
        [
            ("takes rows somebody holds", "lane = w.lane and worker is null", "lane = w.lane"),
            ("takes rows that are not due", "run_at <= now() and", ""),
            ("waits for locked rows", "for update skip locked) q", "for update) q"),
            ("locks nothing", "for update skip locked) q", ") q"),
            ("ignores a paused lane", "l.paused_at is null and l.cancelled_at", "l.cancelled_at"),
            ("ignores a cancelled lane", "l.paused_at is null and l.cancelled_at is null", "l.paused_at is null"),
            ("ignores a paused job", "and j.paused_at is null", ""),
            ("ignores a cancelled job", "and j.cancelled_at is null", ""),
            ("ignores a paused stage", "s.id = w.stage and s.paused_at is null", "s.id = w.stage"),
            ("starts at the front", "and (run_at, task_id) > (w.after_run_at, w.after_task)", ""),
            ("ignores the quota", "limit w.quota", ""),
            ("gives the same number again", _NUMBER, _SAME_NUMBER),
        ],
    ),
    *in_query(
        _QUEUE,
        "claim_by_id",
        STATEMENTS,
        [
            ("takes rows somebody holds", "and q.worker is null", ""),
            ("takes rows that are not due", "and q.run_at <= now()", ""),
            ("waits for locked rows", "for update of q skip locked", "for update of q"),
            ("ignores a paused lane", "and l.paused_at is null", ""),
            ("ignores a cancelled lane", "and l.cancelled_at is null", ""),
            ("ignores a paused job", "and j.paused_at is null", ""),
            ("ignores a cancelled job", "and j.cancelled_at is null", ""),
            ("ignores a paused stage", "and s.paused_at is null", ""),
            ("gives the same number again", _NUMBER, _SAME_NUMBER),
        ],
    ),
    *in_query(
        _QUEUE,
        "finish",
        STATEMENTS,
        [
            ("ignores the lease", "and q.lease is not distinct from e.lease", ""),
            ("ignores the worker", "q.worker is not distinct from $6", "$6::bigint is not null"),
            ("does not count", "count(*) from ended group by lane", "count(*) from ended where false group by lane"),
        ],
    ),
    *in_query(_QUEUE, "settled_before", STATEMENTS, [("ignores the lease", "and o.lease = e.lease", "")]),
    *in_query(
        _QUEUE,
        "advance",
        STATEMENTS,
        [
            ("ignores the lease", "and q.lease is not distinct from a.lease", ""),
            ("ignores the worker", "q.worker is not distinct from $7", "$7::bigint is not null"),
            ("ignores the stage", "and q.stage is not distinct from a.stage", ""),
            ("ignores a cancel", "q.cancel_at is not null as cancelled", "false as cancelled"),
            ("keeps the crashes", "crashes = 0, ", ""),
            ("keeps the unique key", "unique_key = null, ", ""),
            (
                "does not count the arrival",
                "from asked where not cancelled group by",
                "from asked where false group by",
            ),
        ],
    ),
    *in_query(
        _QUEUE,
        "release",
        STATEMENTS,
        [
            ("ignores the lease", "and q.lease is not distinct from r.lease", ""),
            ("ignores the worker", "q.worker is not distinct from $9", "$9::bigint is not null"),
            ("ignores a cancel", "when q.cancel_at is not null then 6", "when false then 6"),
            ("allows a fourth crash", "q.crashes + 1 >= $10", "q.crashes >= $10"),
            ("allows two crashes only", "q.crashes + 1 >= $10", "q.crashes + 2 >= $10"),
            ("does not count crashes", "crashes = q.crashes + a.crashed::integer", "crashes = q.crashes"),
            ("forgets the attempts when it crashed", "or q.attempt + 1 >= q.max_attempts", ""),
            ("rescues without end", "when r.rescued and q.rescues + 1 >= $11", "when $11::integer is null"),
            ("burns every attempt", "attempt = q.attempt + a.burned::integer", "attempt = q.attempt + 1"),
            ("notes no cause", "from asked where cause is not null", "from asked where false"),
            ("does not look for a twin", "and twin.worker is null)", "and false)"),
            ("does not see twins of its batch", "h.ending is null and h.unique_key is not null", "false"),
            (
                "does not count endings",
                "from asked where ends_as is not null group by",
                "from asked where false group by",
            ),
            ("loses its place", "then q.run_at", "then now()"),
        ],
    ),
    *in_query(
        _QUEUE,
        "release",
        _HASTEN,
        [
            ("sleeps through a hasten", "when q.hastened = q.lease and", "when false and"),
            ("obeys a hasten of an earlier lease", "q.hastened = q.lease and", "q.hastened is not null and"),
            ("cuts a backoff", "and r.cause in ('snooze', 'not_found') then", "then"),
        ],
    ),
    *in_query(
        _QUEUE,
        "note_hasten",
        _HASTEN,
        [
            ("waits for locked rows", "for update skip locked", "for update"),
            (
                "forgets locked rows",
                "select task_id from leased where task_id not in",
                "select task_id from noted where task_id not in",
            ),
        ],
    ),
    *in_query(
        _QUEUE,
        "cancel",
        FLEET,
        [
            ("takes the row from a running handler", "h.task_id and h.worker is null\n", "h.task_id\n"),
            ("does not count", "6, 1 from held where worker is null", "6, 1 from held where false"),
        ],
    ),
    *in_query(
        _QUEUE,
        "sweep_cancelled",
        FLEET,
        [
            ("ends running tasks", "lane = l.id and worker is null", "lane = l.id"),
            ("ends lanes that run", "where l.cancelled_at is not null and l.active", "where l.active"),
            ("does not count", "count(*) from ended group by 1, 2", "count(*) from ended where false group by 1, 2"),
        ],
    ),
    *in_query(
        _QUEUE,
        "asked_to_stop",
        FLEET,
        [
            ("tells other workers", "coalesce(worker, 0) = any ($1::bigint[])", "true"),
            ("forgets cancelled lanes", "where l.cancelled_at is not null", "where false"),
        ],
    ),
    *in_query(
        _QUEUE,
        "asked_to_wait",
        FLEET,
        [
            ("forgets paused stages", "where s.paused_at is not null", "where false"),
            ("forgets paused lanes", "where l.paused_at is not null", "where false"),
            ("asks everybody", "where s.paused_at is not null", "where true"),
        ],
    ),
]
