"""The tables ``budgets`` and ``reservations``. One function per query of ``sql/budgets.sql``.

``spent`` holds what calls under way may cost as well, from before they begin: one row decides, so the budget is exact
over the whole fleet, and what a process that died had reserved is spent without anybody's doing.
"""

from dataclasses import dataclass
from typing import Any

from penstock.insight.record import WIRE
from penstock.storage.queries import load

_sql = load("budgets", "penstock.extensions.sites")
Connection = Any
# No call takes that long: a reservation that is older belongs to a process that died.
_LONGEST_CALL_SECONDS = 1200.0


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


async def settle(connection: Connection, reservation: int, cost: float) -> None:
    await connection.execute(_sql.settle, reservation, cost)


async def take_over(connection: Connection, task_id: int, lease: int) -> None:
    await connection.execute(_sql.take_over, task_id, lease)


async def standing(connection: Connection, job_id: int) -> BudgetState | None:
    row = await connection.fetchrow(_sql.standing, job_id, _LONGEST_CALL_SECONDS)
    return None if row is None else BudgetState(**dict(row))
