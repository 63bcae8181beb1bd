"""Forgets endings before retention would, in small steps that never hold a lock for long."""

from collections.abc import Sequence
from datetime import timedelta

from penstock import lifecycle
from penstock.core.app import App
from penstock.errors import InvalidSetting
from penstock.lifecycle import State
from penstock.storage import jobs, outcomes, stages

_WINDOW = 2000
_LONGEST_DAYS = 36_500.0


async def clear(app: App, pipeline: str, *, statuses: Sequence[State], older_than_days: float) -> int:
    """Tasks of a pipeline that ended so long ago, with all that is known about them. Counts of jobs stay as they are.

    Returns how many. A pipeline that nobody has declared yet has none.
    """
    if not 0 <= older_than_days <= _LONGEST_DAYS:
        raise InvalidSetting("older than days", older_than_days, f"use a number from 0 to {_LONGEST_DAYS:,.0f}")
    wanted = [int(status) for status in statuses if status in lifecycle.FINISHED]
    async with app.connection() as connection:
        own = [row["id"] for row in await stages.listing(connection) if row["pipeline"] == pipeline]
        before = await jobs.database_now(connection) - timedelta(days=older_than_days)
    cleared, after = 0, 0
    while True:
        async with app.connection() as connection:
            found = await outcomes.clear(
                connection, stages=own, statuses=wanted, ended_before=before, after=after, window=_WINDOW
            )
        cleared += found.cleared
        if found.last or found.last_id is None:
            return cleared
        after = found.last_id
