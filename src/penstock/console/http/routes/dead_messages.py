"""`/api/dead-letters/messages`: messages of brokers that nobody could read. They belong to nobody, so to the admins."""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query
from pydantic import Field

from penstock.brokers import dead_messages, message_replays
from penstock.brokers.envelope import LARGEST_BYTES
from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.console.http.actor import Admin
from penstock.console.http.ground import Here
from penstock.console.http.parameters import COUNTED, LONGEST_NAME, STORABLE, After, Flag, Name, Number, PageSize
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import MOST_ID, Wire

router = APIRouter(prefix="/api/dead-letters/messages", tags=["operations"], responses=documented(409))

# One request takes no longer than this: it sends so many at that rate, after a canary.
_MOST_REPLAYED = 1000
_LONGEST_SECONDS = 60.0
_LONGEST_CANARY_SECONDS = 30.0
_BASE64 = (LARGEST_BYTES + 2) // 3 * 4

MessageId = Annotated[int, Path(alias="messageId", ge=1, le=MOST_ID)]
Broker = Literal["redis", "rabbitmq"]
Bytes = Annotated[str, Field(max_length=_BASE64, description="The whole message in base64, at most 64 KiB of it.")]


class DeadMessageItem(Wire):
    """``stage``: whose queue it was in; null where that is not known. ``beginning``: its first bytes as text."""

    message_id: int
    transport: str
    queue: str
    stage: str | None
    reason: str
    size_bytes: int
    beginning: str
    deliveries: int
    died_at: datetime | None
    collected_at: datetime
    replayed_at: datetime | None
    replayed_by: str | None
    edited: bool


class DeadMessageDetail(DeadMessageItem):
    """``base64``: every byte that is kept. ``decoded``: the JSON in them. ``problem``: why it would be refused now."""

    base64: str
    decoded: Any = None
    problem: str | None


class DeadMessagePage(Wire):
    items: list[DeadMessageItem]
    next_cursor: str | None


class ReplayMessage(Wire):
    base64: Bytes | None = Field(None, description="Send this instead of what it was. Checked before it is sent.")
    stage: Name | None = Field(None, description="To the queue of this stage instead.")


class MessageSent(Wire):
    message_id: int
    item_id: int


class MatchingMessages(Wire):
    transport: Broker | None = None
    stage: Name | None = None


class ReplayMessages(MatchingMessages):
    canary: Flag = Field(False, description="Send one first; the others stay if it comes back dead or is not taken.")
    canary_seconds: Annotated[Number, Field(gt=0, le=_LONGEST_CANARY_SECONDS)] = 10.0
    per_second: Annotated[Number, Field(ge=0.1, le=1e5)] | None = None
    stop_after: Annotated[int, Field(ge=1, le=_MOST_REPLAYED), COUNTED] | None = Field(
        None, description="Stop when so many came back dead for the reason they had; 10 with a canary."
    )
    most: Annotated[int, Field(ge=1, le=_MOST_REPLAYED), COUNTED] = 100


class RefusedMessage(Wire):
    message_id: int
    clause: str


class MessageCanary(Wire):
    """``ended``: claimed, dead or waiting."""

    message_id: int
    item_id: int
    ended: Literal["claimed", "dead", "waiting"]
    same_reason: bool
    reason: str | None


class MessagesReplayed(Wire):
    """``refused``: those that cannot be sent as they are; they stay."""

    replayed: int
    stopped: bool
    came_back: int
    canary: MessageCanary | None
    refused: list[RefusedMessage]


@router.get("", operation_id="listDeadMessages")
async def listing(
    ground: Here,
    actor: Admin,
    transport: Annotated[Broker | None, Query()] = None,
    stage: Annotated[str | None, Query(max_length=LONGEST_NAME, pattern=STORABLE)] = None,
    state: Annotated[Literal["open", "replayed", "all"], Query()] = "open",
    page_size: PageSize = 50,
    after: After = None,
) -> DeadMessagePage:
    """Newest first."""
    listed = ground.listing(actor.name, "dead-messages", transport, stage, state)
    is_open = {"open": True, "replayed": False, "all": None}[state]
    wanted = await dead_messages.filter_of(ground.app, transport=transport, stage=stage, is_open=is_open)
    found = await dead_messages.page(ground.app, wanted, after=listed.behind(after), limit=page_size)
    items = [DeadMessageItem.model_validate(_item(row)) for row in found.rows]
    return DeadMessagePage(items=items, next_cursor=listed.cursor(found.next))


@router.post("/replay", operation_id="replayDeadMessages")
async def replay_matching(ground: Here, actor: Admin, body: ReplayMessages) -> MessagesReplayed:
    """Send all that are open and match again, newest first, as many as one request may."""
    if body.per_second is not None and body.most / body.per_second > _LONGEST_SECONDS:
        fewer = int(body.per_second * _LONGEST_SECONDS)
        raise Problem(400, f"{body.most:,} at {body.per_second:g} a second take too long. Ask for {fewer:,} at a time.")
    wanted = await dead_messages.filter_of(ground.app, transport=body.transport, stage=body.stage)
    pace = body.model_dump(exclude={"transport", "stage"})
    try:
        done = await message_replays.replay_matching(ground.app, wanted, by=actor.name, **pace)
    except (BrokerAway, BrokerRefused) as error:
        raise _away(error) from None
    if done.replayed:
        chosen = body.model_dump(mode="json", exclude_none=True)
        await ground.note(
            actor.entry("dead-messages.replay", kind="dead-messages", replayed=done.replayed, matching=chosen)
        )
    first = done.canary
    return MessagesReplayed.from_record(
        done,
        canary=None if first is None else MessageCanary.from_record(first, item_id=first.task_id),
        refused=[{"message_id": number, "clause": clause} for number, clause in done.refused.items()],
    )


@router.get("/{messageId:int}", operation_id="getDeadMessage")
async def one(ground: Here, actor: Admin, message_id: MessageId) -> DeadMessageDetail:
    """With its bytes."""
    row = await dead_messages.show(ground.app, message_id)
    raw = bytes(row["raw"])
    item = _item({**row, "beginning": raw[:200]})
    return DeadMessageDetail(
        **item, base64=base64.b64encode(raw).decode(), decoded=row["decoded"], problem=row["problem"]
    )


@router.post("/{messageId:int}/replay", operation_id="replayDeadMessage")
async def replay(
    ground: Here, actor: Admin, message_id: MessageId, body: Annotated[ReplayMessage | None, Body()] = None
) -> MessageSent:
    """Send it again, as it was or edited; once."""
    given = body or ReplayMessage(base64=None, stage=None)
    raw = None if given.base64 is None else _bytes(given.base64)
    try:
        sent = await dead_messages.replay(ground.app, message_id, by=actor.name, raw=raw, stage=given.stage)
    except dead_messages.MessageRefused as refused:
        # Bytes of the caller's own are a wrong request; those that were there are simply not fit to be sent.
        raise Problem(409 if raw is None else 400, str(refused)) from None
    except (BrokerAway, BrokerRefused) as error:
        raise _away(error) from None
    await ground.note(
        actor.entry("dead-message.replay", kind="dead-message", object=message_id, task=sent.task_id, edited=bool(raw))
    )
    return MessageSent(message_id=message_id, item_id=sent.task_id)


@router.delete("/{messageId:int}", operation_id="discardDeadMessage", status_code=204)
async def discard(ground: Here, actor: Admin, message_id: MessageId) -> None:
    """Throw it away. Its task is not touched."""
    if not await dead_messages.discard(ground.app, [message_id], by=actor.name):
        raise dead_messages.MessageNotFound(message_id)
    await ground.note(actor.entry("dead-message.discard", kind="dead-message", object=message_id))


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Problem(400, "base64 does not hold base64. Encode the whole message with it.") from None


def _away(error: Exception) -> Problem:
    """Nothing was changed by what was not confirmed."""
    return Problem(503, str(error), headers={"Retry-After": "5"})


def _item(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("transport", "queue", "stage", "reason", "size_bytes", "deliveries", "died_at", "replayed_at")
    beginning = bytes(row["beginning"]).decode("utf-8", "backslashreplace")
    named = {"message_id": row["id"], "collected_at": row["arrived_at"], "beginning": beginning}
    return {**{name: row[name] for name in (*kept, "replayed_by", "edited")}, **named}
