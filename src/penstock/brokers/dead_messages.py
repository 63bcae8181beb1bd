"""Dead messages: look, edit, send again, throw away. One, or all that match, with a canary first and a rate.

A message only says that a task is due. The task is not lost with it: a duty has it sent again. So what is done
here is about finding out who writes such messages, and about messages that were made by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from penstock import brokers as transports
from penstock.brokers.envelope import Envelope, UnknownVersion, Unreadable, decode, job_id_of
from penstock.brokers.stage_transports import BrokerStage, broker_stage
from penstock.brokers.transport import Outgoing, Transport, urgency
from penstock.core.app import App
from penstock.errors import IllegalMove, NotKnown, UsageError
from penstock.storage import dead_messages as table
from penstock.storage import relay, stages
from penstock.storage.dead_messages import DeadMessagePage, MessageFilter

__all__ = [
    "DeadMessagePage",
    "MessageFilter",
    "MessageNotFound",
    "MessageRefused",
    "Place",
    "Places",
    "discard",
    "filter_of",
    "open_counts",
    "page",
    "places",
    "replay",
    "send",
    "show",
]


class MessageNotFound(NotKnown):
    def __init__(self, message_id: int) -> None:
        super().__init__(kind="dead message", name=str(message_id))


class MessageRefused(UsageError):
    """It was not sent. ``clause``: what is wrong with it."""

    def __init__(self, message_id: int, clause: str, next_step: str) -> None:
        self.clause = clause
        super().__init__(f"Message {message_id} was not sent: {clause}. {next_step}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A stage as messages know it."""

    transport: str
    stage: BrokerStage

    @property
    def label(self) -> str:
        return self.stage.type


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where messages of this installation go. Built anew for each call: stages come and go."""

    installation: UUID
    by_queue: Mapping[str, Place]

    def named(self, stage: str) -> Place:
        for place in self.by_queue.values():
            if stage in (place.label, f"{place.stage.pipeline}/{place.label}"):
                return place
        raise NotKnown(kind="stage", name=stage, known=[one.label for one in self.by_queue.values()])

    def label(self, queue: str) -> str | None:
        place = self.by_queue.get(queue)
        return None if place is None else place.label


async def places(app: App) -> Places:
    async with app.connection() as connection:
        installation = await relay.installation(connection)
        rows = await stages.listing(connection)
    found = {}
    for row in rows:
        stage = broker_stage(app.settings, installation, row["id"], row["pipeline"], row["name"])
        found[stage.queue] = Place(
            transport=app.settings.transport_of(row["pipeline"], row["name"]),
            stage=stage,
        )
    return Places(installation=installation, by_queue=found)


async def filter_of(
    app: App, *, transport: str | None = None, stage: str | None = None, is_open: bool | None = True
) -> MessageFilter:
    """``stage``: a pipeline, or pipeline/stage; one that does not exist is told."""
    queues = None if stage is None else ((await places(app)).named(stage).stage.queue,)
    return MessageFilter(transport=transport, queues=queues, open=is_open)


async def page(app: App, wanted: MessageFilter, *, after: int | None = None, limit: int = 50) -> DeadMessagePage:
    """Newest first. Each row also has ``stage``: whose queue it was in, None where nobody knows that queue."""
    known = await places(app)
    async with app.connection() as connection:
        found = await table.page(connection, wanted, after=after, limit=limit)
    return DeadMessagePage(
        rows=tuple({**row, "stage": known.label(row["queue"])} for row in found.rows), next=found.next
    )


async def show(app: App, message_id: int) -> dict[str, Any]:
    """With its bytes, and ``decoded``: the JSON in them where there is some. ``problem``: what is wrong with it now."""
    known = await places(app)
    async with app.connection() as connection:
        row = await table.get(connection, message_id)
    if row is None:
        raise MessageNotFound(message_id)
    del row["digest"]
    return {**row, "stage": known.label(row["queue"]), "decoded": _json(row["raw"]), "problem": _problem(row, known)}


async def open_counts(app: App) -> dict[str, int]:
    """How many wait for somebody to look, by transport."""
    async with app.connection() as connection:
        return await table.open_counts(connection)


async def replay(
    app: App,
    message_id: int,
    *,
    by: str,
    raw: bytes | None = None,
    stage: str | None = None,
) -> Envelope:
    """Send it again, as it was or as ``raw``, to the stage it came from or to another one. Once: whoever comes second
    is refused."""
    envelope = await send(app, await places(app), message_id, by=by, raw=raw, stage=stage)
    app.events.emit("messages.replayed", count=1, messages=[message_id], by=by)
    return envelope


async def send(
    app: App,
    known: Places,
    message_id: int,
    *,
    by: str,
    raw: bytes | None = None,
    stage: str | None = None,
    transport: Transport | None = None,
) -> Envelope:
    """The same for those who send many and tell of it themselves. ``transport``: one that is open already."""
    async with app.connection() as connection:
        row = await table.get(connection, message_id)
        if row is None:
            raise MessageNotFound(message_id)
        place = _place(row, known, stage)
        data = bytes(row["raw"]) if raw is None else raw
        envelope = _checked(message_id, data, place, known)
        async with connection.transaction():
            # Marked and sent, or neither: a broker that is away leaves the message open.
            if not await table.take(connection, message_id, by, edited=raw is not None and raw != row["raw"]):
                raise _sent_already(message_id, row)
            await _send(app, place, [Outgoing(place.stage.queue, urgency(envelope.priority), data)], transport)
    return envelope


async def discard(app: App, message_ids: Sequence[int], *, by: str) -> list[int]:
    """Throw them away; returns those that were there. Their tasks are not touched."""
    async with app.connection() as connection:
        gone = await table.discard(connection, message_ids)
    if gone:
        app.events.emit("messages.discarded", count=len(gone), messages=gone, by=by)
    return gone


def _place(row: Mapping[str, Any], known: Places, stage: str | None) -> Place:
    place = known.by_queue.get(row["queue"]) if stage is None else known.named(stage)
    if place is None:
        clause = f"its queue {row['queue']!r} is none of a stage we know"
        raise MessageRefused(row["id"], clause, "Name a stage to send it to, or discard it.")
    if place.transport == "postgres":
        clause = f"stage {place.label} is claimed from PostgreSQL, where nobody reads messages"
        raise MessageRefused(row["id"], clause, "Its tasks need none: discard it.")
    return place


def _checked(message_id: int, data: bytes, place: Place, known: Places) -> Envelope:
    """As a worker would look at it: what it would bury or put aside is not sent."""
    try:
        envelope = decode(data)
    except (Unreadable, UnknownVersion) as problem:
        clause = problem.reason if isinstance(problem, Unreadable) else str(problem).rstrip(".")
        raise MessageRefused(message_id, clause, "Edit it, or discard it.") from None
    if envelope.job_id != job_id_of(known.installation, envelope.task_id):
        clause = f"header.job_id is not that of task {envelope.task_id}: it is forged, or of another installation"
        raise MessageRefused(message_id, clause, "Discard it; its task, if there is one, needs no message of yours.")
    if envelope.type != place.stage.type:
        clause = f"header.type is {envelope.type!r}, and messages of stage {place.label} have {place.stage.type!r}"
        raise MessageRefused(message_id, clause, "Edit it, or name the stage it is for.")
    return envelope


async def _send(app: App, place: Place, batch: Sequence[Outgoing], transport: Transport | None) -> None:
    if transport is not None and transport.name == place.transport:
        await transport.publish(batch)
        return
    own = await transports.opened(place.transport, app.settings)
    try:
        await own.publish(batch)
    finally:
        await own.close()


def _sent_already(message_id: int, row: Mapping[str, Any]) -> IllegalMove:
    who = f"sent again by {row['replayed_by']}" if row["replayed_by"] else "sent again by somebody"
    return IllegalMove(move="replay", subject=f"message {message_id}", state=who, allowed_from=["open"])


def _problem(row: Mapping[str, Any], known: Places) -> str | None:
    """Why it would not be sent as it is; None: it would."""
    try:
        _checked(row["id"], bytes(row["raw"]), _place(row, known, None), known)
    except MessageRefused as refused:
        return refused.clause
    return None


def _json(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
