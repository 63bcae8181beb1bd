"""What has to be true of the tables at any moment, asked in SQL."""

from typing import Any

# Each query lists what breaks its promise; nothing means that it holds.
_PROMISES = {
    "every task has either a queue row or an outcome": """
        select t.id from penstock.tasks t
        left join penstock.queue q on q.task_id = t.id
        left join penstock.outcomes o on o.task_id = t.id
        where (q.task_id is null) = (o.task_id is null)
        """,
    "arrivals less endings and moves are the rows of the queue, by lane and stage": """
        select lane, stage, counted, held
        from (select lane, stage, sum(case when state = 0 then n else -n end) as counted
              from penstock.counts group by 1, 2) c
        full join (select lane, stage, count(*) as held from penstock.queue group by 1, 2) q using (lane, stage)
        where coalesce(counted, 0) <> coalesce(held, 0)
        """,
    "the counts of endings, less those whose rows are gone, are the outcomes, by lane, stage and state": """
        select lane, stage, status, counted, held
        from (select lane, stage, state % 10 as status, sum(case when state < 10 then n else -n end) as counted
              from penstock.counts where state between 2 and 6 or state between 12 and 16 group by 1, 2, 3) c
        full join (select lane, stage, status, count(*) as held from penstock.outcomes group by 1, 2, 3) o
            using (lane, stage, status)
        where coalesce(counted, 0) <> coalesce(held, 0)
        """,
    "a lane that holds a row is active or about to be": """
        select l.id from penstock.lanes l
        where not l.active and exists (select from penstock.queue q where q.lane = l.id)
          and not exists (select from penstock.wakes w where w.lane = l.id)
          and not exists (select from penstock.wakes w where w.lane = l.id)
        """,
    "every burned attempt has its cause": """
        select q.task_id, q.attempt, count(a.task_id) as noted
        from penstock.queue q
        left join penstock.attempts a on a.task_id = q.task_id and a.run = q.run and a.stage = q.stage and a.burned
        group by q.task_id having count(a.task_id) <> q.attempt
        """,
    "nobody crashed three times and waits": """
        select task_id, crashes from penstock.queue where crashes >= 3
        """,
    "a task that was asked to stop is in somebody's hands": """
        select task_id from penstock.queue where cancel_at is not null and worker is null
        """,
    "one task waits for a unique key": """
        select unique_key from penstock.queue where unique_key is not null and worker is null
        group by 1 having count(*) > 1
        """,
    "no lease number was given twice": """
        select lease from penstock.queue where worker is not null group by 1 having count(*) > 1
        """,
}

# In one statement: in one snapshot, and quick enough to be asked after every step.
_ALL = " union all ".join(
    f"select '{promise.replace(chr(39), chr(39) * 2)}' as promise, to_jsonb(shown)::text as shown from ({query}) shown"
    for promise, query in _PROMISES.items()
)


async def broken(connection: Any) -> list[tuple[str, str]]:
    """The promises that do not hold, each with a row that shows it."""
    return [(row["promise"], row["shown"]) for row in await connection.fetch(_ALL)]
