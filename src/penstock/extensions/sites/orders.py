"""What people decided about a site. One function per query of ``sql/orders.sql``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import orjson

from penstock.errors import InvalidArguments
from penstock.extensions.sites.findings import Prompt
from penstock.extensions.sites.settings import Options
from penstock.storage.queries import load

_sql = load("orders", "penstock.extensions.sites")
Connection = Any
_KNOWN = tuple(field.name for field in fields(Options))


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """``prompts`` None: those that were formed. ``options``: what differs from the job, in the run ``for_run``."""

    task_id: int
    prompts: tuple[Prompt, ...] | None
    approved_at: datetime | None
    options: dict[str, Any]
    for_run: int | None
    decided_by: str


async def set_prompts(connection: Connection, task_id: int, prompts: Sequence[Prompt] | None, *, by: str) -> None:
    """Other prompts than before need a new approval, where the job asks for one."""
    stored = None if prompts is None else orjson.dumps([prompt.as_json() for prompt in prompts]).decode()
    await connection.execute(_sql.set_prompts, task_id, stored, by)


async def approve(connection: Connection, task_ids: Sequence[int], *, by: str) -> list[int]:
    """Those that were not approved before; hasten them, as they wait for a day."""
    rows = await connection.fetch(_sql.approve, sorted(set(task_ids)), by)
    return sorted(row["task_id"] for row in rows)


async def withdraw_approval(connection: Connection, task_id: int) -> None:
    await connection.execute(_sql.withdraw_approval, task_id)


async def set_options(connection: Connection, task_ids: Sequence[int], options: Mapping[str, Any], *, by: str) -> None:
    """For the next run of sites that ended. Replaces what was set before; empty: as the job says."""
    if unknown := sorted(set(options) - set(_KNOWN)):
        raise InvalidArguments("sites", f"no option is called {', '.join(unknown)}; known: {', '.join(_KNOWN)}")
    await connection.execute(_sql.set_options, sorted(set(task_ids)), orjson.dumps(dict(options)).decode(), by)


async def get(connection: Connection, task_id: int) -> Order | None:
    row = await connection.fetchrow(_sql.get, task_id)
    if row is None:
        return None
    prompts = None if row["prompts"] is None else tuple(Prompt.from_json(one) for one in orjson.loads(row["prompts"]))
    return Order(**{**row, "prompts": prompts, "options": orjson.loads(row["options"])})
