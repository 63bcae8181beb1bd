"""A hard budget: the worst case of a call has to fit into what is left before the call is made.

The tables ``budgets`` and ``reservations``, one function per query of ``sql/budgets.sql``, and their use by a run.
``spent`` holds what calls under way may cost as well, from before they begin: one row decides, so the budget is exact
over the whole fleet, and what a process that died had reserved is spent without anybody's doing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from time import monotonic
from typing import Any

from penstock import Penstock
from penstock.errors import PermanentError, ThrottledError
from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("budgets", "penstock.extensions.sites")
Connection = Any
# No call takes that long: a reservation that is older belongs to a process that died.
_LONGEST_CALL_SECONDS = 1200.0
_LOOK_AGAIN_SECONDS = 0.25
_PATIENCE_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetState:
    """`reserved`: what calls under way may cost at most."""

    __pydantic_config__ = WIRE

    most: float
    spent: float
    reserved: float


async def open_budget(connection: Connection, job_id: int, most: float) -> None:
    await connection.execute(_sql.open_budget, job_id, most)


async def reserve(
    connection: Connection, *, job_id: int, task_id: int, lease: int, cost: float, most: float
) -> int | None:
    """The reservation's id; None where the cost does not fit into what is left of ``most``."""
    number: int | None = await connection.fetchval(_sql.reserve, job_id, task_id, lease, cost, most)
    return number


async def standing(connection: Connection, job_id: int) -> BudgetState | None:
    row = await connection.fetchrow(_sql.standing, job_id, _LONGEST_CALL_SECONDS)
    return None if row is None else BudgetState(**dict(row))


class BudgetSpent(PermanentError):
    """The call was not made, and will not fit later either."""

    def __init__(self, standing: BudgetState, most: float, worst_cost: float) -> None:
        self.worst_cost = worst_cost
        super().__init__(
            f"The budget of {most:g} stopped this call: {standing.spent:.6g} is spent, and the call may cost up to"
            f" {worst_cost:.6g}. Run the stage model-analysis again with a larger budget."
        )


class BudgetHeld(ThrottledError):
    """What is left is reserved by calls under way, which may cost less: worth waiting for in the queue."""


@dataclass(slots=True)
class Call:
    """``spent``: what it did cost. Where nobody says, its worst case counts."""

    spent: float | None = None


class Budget:
    """Of one job, as one run of one of its tasks uses it. Models that cost nothing never touch it."""

    def __init__(self, app: Penstock, job_id: int, most: float) -> None:
        self._app = app
        self._job_id = job_id
        self._most = most
        self._taken_over: set[tuple[int, int]] = set()
        # Set when a call of ours ended, and may have left something of its worst case.
        self._ended = asyncio.Event()

    @classmethod
    async def open(cls, app: Penstock, job_id: int, most: float) -> "Budget":
        async with app.connection() as connection:
            await open_budget(connection, job_id, most)
        return cls(app, job_id, most)

    async def standing(self) -> BudgetState:
        async with self._app.connection() as connection:
            found = await standing(connection, self._job_id)
        return found or BudgetState(most=self._most, spent=0.0, reserved=0.0)

    @asynccontextmanager
    async def reserved(self, task_id: int, lease: int, worst_cost: float) -> AsyncIterator[Call]:
        """Raises BudgetSpent before the call. A process that dies inside has spent the worst case; so has a handler
        that is interrupted: its reservation stays, and counts."""
        call = Call()
        if worst_cost <= 0:
            yield call
            return
        number = await self._reservation(task_id, lease, worst_cost)
        try:
            yield call
        except Exception:
            await self._settle(number, call, worst_cost)
            raise
        await self._settle(number, call, worst_cost)

    async def _reservation(self, task_id: int, lease: int, worst_cost: float) -> int:
        """Waits while calls under way may still leave enough of what they reserved."""
        give_up_at = monotonic() + _PATIENCE_SECONDS
        while True:
            self._ended.clear()
            number = await self._try(task_id, lease, worst_cost)
            if number is not None:
                return number
            standing = await self.standing()
            if _exact(standing.spent + worst_cost) > _exact(self._most):
                raise BudgetSpent(standing, self._most, worst_cost)
            if monotonic() > give_up_at:
                raise BudgetHeld(
                    "the rest of the budget is reserved by calls under way", retry_after=_PATIENCE_SECONDS / 4
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AGAIN_SECONDS):
                    await self._ended.wait()

    async def _try(self, task_id: int, lease: int, worst_cost: float) -> int | None:
        async with self._app.connection() as connection:
            if (task_id, lease) not in self._taken_over:
                await connection.execute(_sql.take_over, task_id, lease)
                self._taken_over.add((task_id, lease))
            return await reserve(
                connection, job_id=self._job_id, task_id=task_id, lease=lease, cost=worst_cost, most=self._most
            )

    async def _settle(self, number: int, call: Call, worst_cost: float) -> None:
        async with self._app.connection() as connection:
            await connection.execute(_sql.settle, number, worst_cost if call.spent is None else call.spent)
        self._ended.set()


def _exact(value: float) -> Decimal:
    """As PostgreSQL compares them: fifteen digits, so that three times 0.1 is 0.3."""
    return Decimal(f"{value:.15g}")
