"""Messages nobody could read. One function per query of ``sql/dead_messages.sql``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from penstock.storage.queries import Column, Connection, Counted, Pairs, Record, Value, load
from penstock.storage.reads import NEWEST

_sql = load("dead_messages")

# Nothing above 64 KiB can ever be sent again, so this much of a larger one is plenty to see what it is.
KEPT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadMessage:
    """A message in the broker's dead-letter queue. ``reason``: why nobody could use it; ``kind``: the same in one of a
    few words, as whoever buried it said. ``token``: what it is known by when it comes a second time."""

    queue: str
    raw: bytes
    reason: str
    deliveries: int
    died_at: datetime | None
    token: Any = field(repr=False, compare=False)
    kind: str = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """``queues`` None: any. ``open``: True those nobody has sent again yet, False the others, None all."""

    transport: str | None = None
    queues: tuple[str, ...] | None = None
    open: bool | None = True


class Kept(NamedTuple):
    """``kind``: as whoever buried it said."""

    id: int
    reason: str
    kind: str = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadMessagePage:
    """``next``: the id behind which the next page begins; None: that was the last one."""

    rows: tuple[dict[str, Any], ...]
    next: int | None


async def keep(connection: Connection, transport: str, messages: Sequence[DeadMessage]) -> list[Kept]:
    """Those that were not known. One statement cannot touch a row twice, so equal ones are named once."""
    distinct = {(_token(one), sha256(one.raw).digest()): one for one in messages}
    rows = await connection.fetch(
        _sql.keep,
        transport,
        [_storable(one.queue) for one in distinct.values()],
        [one.raw[:KEPT_BYTES] for one in distinct.values()],
        [_reason(one) for one in distinct.values()],
        [min(one.deliveries, 2**31 - 1) for one in distinct.values()],
        [one.died_at for one in distinct.values()],
        [digest for _, digest in distinct],
        [token for token, _ in distinct],
    )
    return [Kept(row["id"], row["reason"], distinct[row["token"], row["digest"]].kind) for row in rows]


async def page(connection: Connection, wanted: MessageFilter, *, after: int | None, limit: int) -> DeadMessagePage:
    queues = None if wanted.queues is None else list(wanted.queues)
    rows = [
        dict(row)
        for row in await connection.fetch(
            _sql.page, NEWEST if after is None else after, wanted.transport, queues, wanted.open, limit + 1
        )
    ]
    return DeadMessagePage(rows=tuple(rows[:limit]), next=rows[limit - 1]["id"] if len(rows) > limit else None)


get = Record[[int], dict[str, Any]](_sql.get, dict)  # message_id
discard = Column[[Sequence[int]], int](_sql.discard)  # message_ids
open_counts = Pairs[[], str, int](_sql.open_counts)
expire = Counted[[float, int]](_sql.expire)  # keep_seconds, batch
standing = Value[[int], int](_sql.standing)
now = Value[[], datetime](_sql.now)


async def take(connection: Connection, message_id: int, by: str, *, edited: bool) -> bool:
    return await connection.fetchval(_sql.take, message_id, by, edited) is not None


async def back(
    connection: Connection, sent: Sequence[tuple[bytes, str]], *, since: datetime, any_reason: bool = False
) -> list[Kept]:
    """``sent``: digest and reason of what was sent again."""
    digests, reasons = [digest for digest, _ in sent], [reason for _, reason in sent]
    return [Kept(*row) for row in await connection.fetch(_sql.back, digests, reasons, since, any_reason)]


def _token(message: DeadMessage) -> str:
    token = message.token
    return _storable(token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token))


def _reason(message: DeadMessage) -> str:
    reason = _storable(message.reason) or "nobody said why"
    if len(message.raw) <= KEPT_BYTES:
        return reason
    return f"{reason}; of its {len(message.raw):,} bytes the first {KEPT_BYTES:,} are kept"


def _storable(text: str) -> str:
    """Queue names and reasons are somebody else's text as well."""
    return text[:2000].replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")
