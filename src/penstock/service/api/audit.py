"""`/api/audit`: who did what, from where."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from penstock.service.actor import Operator
from penstock.service.ground import ground_of
from penstock.service.parameters import STORABLE, After, Moment, PageSize
from penstock.service.problems import documented
from penstock.service.wire import Wire
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
    request: Request,
    actor: Operator,
    filters: Annotated[Filters, Depends()],
    page_size: PageSize = 50,
    after: After = None,
) -> AuditEntries:
    """Newest first. Operators see what they did and what was done to their objects; admins see everything."""
    ground = ground_of(request)
    concerning = None if actor.is_admin else actor.name
    query = ("audit", concerning, *filters.values.values())
    place: dict[str, Any] = {}
    if after is not None:
        [place["before_id"]] = ground.cursors.take(actor.name, query, after)
    chosen = audit.AuditFilter(**filters.values, concerning=concerning)
    async with ground.app.connection() as connection:
        page = await audit.page(connection, chosen, limit=page_size, **place)
    following = None
    if page.next_before_id is not None:
        following = ground.cursors.give(actor.name, query, [page.next_before_id])
    return AuditEntries(items=[_entry(one) for one in page.entries], next_cursor=following)


def _entry(stored: audit.StoredEntry) -> AuditEntry:
    return AuditEntry(
        entry_id=stored.id,
        at=stored.at,
        actor=stored.actor,
        ip=stored.ip,
        action=stored.action,
        kind=stored.kind,
        object=stored.object,
        owner=stored.owner,
        request_id=stored.request_id,
        details=stored.details,
    )
