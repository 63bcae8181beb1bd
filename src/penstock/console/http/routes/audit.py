"""`/api/audit`: who did what, from where."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from penstock.console.http.actor import Operator
from penstock.console.http.ground import Here
from penstock.console.http.parameters import STORABLE, After, Moment, PageSize
from penstock.console.http.problems import documented
from penstock.console.http.wire import MOST_ID, Wire
from penstock.storage import audit

router = APIRouter(prefix="/api/audit", tags=["audit"], responses=documented())

Filter = Annotated[str | None, Query(min_length=1, max_length=200, pattern=STORABLE)]


class AuditEntry(Wire):
    entry_id: int
    at: datetime
    actor: str = Field(description="A user; `cli:NAME` for the command line; `-` for somebody who was not let in.")
    ip: str | None
    action: str
    kind: str | None
    object: str | None
    owner: str | None = Field(description="Whose object it was.")
    request_id: str | None
    details: dict[str, Any]


class AuditEntries(Wire):
    items: list[AuditEntry]
    next_cursor: str | None = Field(description="A page may hold nothing and still have a next one.")


class Filters:
    """Of the query; equal values only."""

    def __init__(
        self,
        actor: Filter = None,
        action: Filter = None,
        kind: Filter = None,
        object: Filter = None,
        since: Annotated[Moment | None, Query(description="From this time on.")] = None,
        until: Annotated[Moment | None, Query(description="Before this time.")] = None,
        looks: Annotated[bool, Query(description="Also what admins read of others'.")] = True,
    ) -> None:
        self.values: dict[str, Any] = {"actor": actor, "action": action, "kind": kind, "object": object}
        self.values |= {"since": since, "until": until, "looks": looks}


@router.get("", operation_id="listAudit")
async def list_audit(
    ground: Here,
    actor: Operator,
    filters: Annotated[Filters, Depends()],
    page_size: PageSize = 50,
    after: After = None,
) -> AuditEntries:
    """Newest first. Operators see what they did and what was done to their objects; admins see everything."""
    concerning = None if actor.is_admin else actor.name
    entries = ground.listing(actor.name, "audit", concerning, *filters.values.values())
    chosen = audit.AuditFilter(**filters.values, concerning=concerning)
    async with ground.app.connection() as connection:
        page = await audit.page(connection, chosen, limit=page_size, before_id=entries.behind(after, first=MOST_ID))
    return AuditEntries(
        items=[AuditEntry.from_record(one, entry_id=one.id) for one in page.entries],
        next_cursor=entries.cursor(page.next_before_id),
    )
