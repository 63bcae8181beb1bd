"""`/api/limits`: fleet-wide budgets. Keys hold what people like (hosts, paths), so they travel in query and body."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field, StringConstraints

from penstock.console.http.actor import Operator, Viewer
from penstock.console.http.ground import Here
from penstock.console.http.parameters import COUNTED, After, Number, PageSize, Text
from penstock.console.http.problems import documented
from penstock.console.http.wire import Wire
from penstock.control import limits
from penstock.model import LONGEST_SECONDS

router = APIRouter(prefix="/api/limits", tags=["operations"], responses=documented())

_SHOWN = r"^[^\x00]*[^\s\x00][^\x00]*$"
_KEY = StringConstraints(min_length=1, max_length=500, pattern=_SHOWN)
Key = Annotated[str, _KEY]


class LimitItem(Wire):
    """``available`` may be negative while permits are reserved ahead, and null where Redis counts and does not answer;
    without a rate a key is only blocked. ``circuit``: closed, open, due (one call may try), probing.
    ``opensInSeconds``: until the next permit. ``penalties``: how often somebody was asked to slow down (429 and the
    like) or closed it by hand, since it was set."""

    key: str
    rate: float | None
    burst: int
    available: int | None
    blocked_seconds: float
    blocked_reason: str | None
    updated_at: datetime
    store: Literal["postgres", "redis"]
    circuit: Literal["closed", "open", "due", "probing"] | None
    circuit_failures: int | None
    circuit_seconds: float | None
    failures: int | None
    opens_in_seconds: float
    penalties: int
    penalised_at: datetime | None
    penalty_reason: str | None


class LimitPage(Wire):
    items: list[LimitItem]
    next_cursor: str | None


class LimitSetting(Wire):
    key: Key
    rate: Annotated[Number, Field(ge=1e-6, le=1e5, description="Permits per second.")]
    burst: Annotated[
        int, Field(ge=1, le=1_000_000, description="Permits that may be used at once after a rest."), COUNTED
    ] = 1
    circuit_failures: Annotated[
        int | None,
        Field(
            ge=0, le=1_000_000, description="Failures in a row that open the circuit; 0 takes it away, null leaves it."
        ),
        COUNTED,
    ] = None
    circuit_seconds: Annotated[
        Number | None, Field(gt=0, le=LONGEST_SECONDS, description="How long it is open before one call is tried.")
    ] = None


class BlockRequest(Wire):
    key: Key
    seconds: Annotated[Number, Field(ge=0, le=LONGEST_SECONDS, description="How long nobody gets a permit.")]
    reason: Text | None = None


class Blocked(Wire):
    key: str
    blocked_seconds: float


@router.get("", operation_id="listLimits")
async def listing(ground: Here, actor: Viewer, page_size: PageSize = 50, after: After = None) -> LimitPage:
    """What is left of every budget right now, and what holds a key up; in order of their keys."""
    keys = ground.listing(actor.name, "limits")
    found = await limits.listing(ground.app, after=keys.behind(after, first=""), limit=page_size + 1)
    shown, following = keys.page(found, page_size, lambda limit: limit.key)
    return LimitPage(items=[LimitItem.from_record(view) for view in shown], next_cursor=following)


@router.put("", operation_id="setLimit")
async def put(ground: Here, actor: Operator, body: LimitSetting) -> LimitSetting:
    """Limit a key, or change its limit; what was used stays used."""
    await limits.configure(ground.app, **body.model_dump(), by=actor.name)
    set_to = body.model_dump(exclude={"key"}, exclude_none=True)
    await ground.note(actor.entry("limit.set", kind="limit", object=body.key, **set_to))
    return body


@router.delete("", operation_id="removeLimit", status_code=204)
async def remove(ground: Here, actor: Operator, key: Annotated[Key, Query()]) -> None:
    """Neither limited nor blocked any more."""
    await limits.remove(ground.app, key, by=actor.name)
    await ground.note(actor.entry("limit.remove", kind="limit", object=key))


@router.post("/block", operation_id="blockLimit")
async def block(ground: Here, actor: Operator, body: BlockRequest) -> Blocked:
    """Close a key for everybody, as an answer 429 would; a longer block stays."""
    left = await limits.block(ground.app, body.key, body.seconds, by=actor.name, reason=body.reason)
    await ground.note(
        actor.entry("limit.block", kind="limit", object=body.key, seconds=body.seconds, reason=body.reason)
    )
    return Blocked(key=body.key, blocked_seconds=left)
