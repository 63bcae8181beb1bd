"""Failures that are the same failure: of one type, at one place in the code, with the same words around the ids.

A bounded number of the newest dead letters is read and grouped per call. Grouping in the database would need the rules
of what an id looks like in SQL, and an index that every settle pays for.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.core.app import App
from penstock.observe.wording import stage_label
from penstock.storage import error_groups as table
from penstock.storage.error_groups import Failure
from penstock.storage.items import EARLIEST, LATEST, NEWEST, ItemPosition, ItemsWanted

MOST_FAILURES = 5000
MOST_GROUPS = 200
# So many failures are looked at for a page of one group; a page may end before it is full.
LOOKED_AT = 2000
TREND_PARTS = 24
_MESSAGE_CHARACTERS = 300

# A word of six characters or more with a digit in it is an id (a UUID, a hash, an article number), other digits are
# numbers. Line numbers change with every release, so the place is the file and the function.
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CHANGING = re.compile(rf"(?P<id>\b(?=[\w-]*\d)[\w-]*[^\W\d][\w-]*\b)|(?P<number>{_NUMBER.pattern})")
_SHORTEST_ID = 6
_LINE = re.compile(r":\d+(?= |$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """``id`` is stable over processes and releases. ``message`` is what all have in common, ``example`` the beginning
    of the message of the newest, ``where`` that of the newest. ``trend``: how many in each of the equal parts of the
    time that was asked for, the oldest first."""

    id: str
    type: str | None
    kind: str | None
    message: str
    example: str
    where: str | None
    stages: tuple[str, ...]
    count: int
    first_seen: datetime
    last_seen: datetime
    trend: tuple[int, ...]
    example_task_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroups:
    """Largest first. ``complete``: no failure of the time asked for was left out of the counts."""

    groups: tuple[ErrorGroup, ...]
    failures: int
    groups_left_out: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Members of one group next to a place, nearest first. ``first`` and ``last``: what was looked at, also where
    nothing matched; ``more``: the look ended before the failures did."""

    places: tuple[ItemPosition, ...]
    first: ItemPosition | None
    last: ItemPosition | None
    more: bool


async def members(
    connection: Any,
    wanted: ItemsWanted,
    *,
    newest_first: bool,
    behind: ItemPosition | None,
    limit: int,
    looked_at: int = LOOKED_AT,
) -> Look:
    """Of the one job and the group that ``wanted`` names."""
    start = behind or (ItemPosition(LATEST, NEWEST) if newest_first else ItemPosition(EARLIEST, 0))
    seen = await table.window(
        connection,
        wanted.jobs[0],
        newest_first=newest_first,
        behind=(start.at, start.task_id),
        since=wanted.since,
        until=wanted.until,
        most=looked_at,
        message_characters=_MESSAGE_CHARACTERS,
    )
    found: list[ItemPosition] = []
    last: ItemPosition | None = None
    for task_id, at, error in seen:
        last = ItemPosition(at, task_id)
        if group_of(error) == wanted.group:
            found.append(last)
            if len(found) == limit:
                break
    first = ItemPosition(seen[0][1], seen[0][0]) if seen else None
    more = len(found) == limit or len(seen) == looked_at
    return Look(places=tuple(found), first=first, last=last, more=more)


def trend(times: Iterable[datetime], *, until: datetime, hours: float) -> tuple[int, ...]:
    """How many in each of the equal parts of a time. The clock of the database may differ: what is outside counts at
    the edge."""
    counts = [0] * TREND_PARTS
    since = until - timedelta(hours=hours)
    for at in times:
        part = int((at - since) / timedelta(hours=hours) * TREND_PARTS)
        counts[min(max(part, 0), TREND_PARTS - 1)] += 1
    return tuple(counts)


async def newest(app: App, *, hours: float, owner: str | None) -> ErrorGroups:
    """Of one owner, or of everybody."""
    async with app.connection() as connection:
        read = await table.newest(
            connection, hours=hours, owner=owner, most=MOST_FAILURES, message_characters=_MESSAGE_CHARACTERS
        )
    return _grouped(read, hours)


async def of_job(app: App, job_id: int, *, hours: float) -> ErrorGroups:
    """Of one job."""
    async with app.connection() as connection:
        read = await table.of_job(
            connection, job_id, hours=hours, most=MOST_FAILURES, message_characters=_MESSAGE_CHARACTERS
        )
    return _grouped(read, hours)


def group_of(error: Mapping[str, Any]) -> str:
    """The group that a stored error belongs to."""
    message = str(error.get("message") or "")[:_MESSAGE_CHARACTERS]
    return _identity(error.get("type"), error.get("where"), without_ids(message))


def without_ids(message: str) -> str:
    """Two failures that differ only in what they were about read the same."""
    return " ".join(_CHANGING.sub(_placeholder, message).split())


def _placeholder(found: re.Match[str]) -> str:
    if found["number"] is None and len(found["id"]) >= _SHORTEST_ID:
        return "<id>"
    return _NUMBER.sub("<n>", found[0])


def _identity(kind: object, where: object, message: str) -> str:
    place = _LINE.sub("", str(where or ""))
    return hashlib.sha256(f"{kind}\n{place}\n{message}".encode("utf-8", "replace")).hexdigest()[:16]


def _grouped(read: table.Failures, hours: float) -> ErrorGroups:
    until = datetime.now(UTC)
    members: dict[str, list[Failure]] = {}
    messages: dict[str, str] = {}
    for failure in read.found:  # newest first
        message = without_ids(failure.message or "")
        identity = _identity(failure.type, failure.place, message)
        members.setdefault(identity, []).append(failure)
        messages[identity] = message
    groups = [_group(identity, messages[identity], found, until, hours) for identity, found in members.items()]
    groups.sort(key=lambda group: (-group.count, -group.last_seen.timestamp(), group.id))
    return ErrorGroups(
        groups=tuple(groups[:MOST_GROUPS]),
        failures=len(read.found),
        groups_left_out=max(len(groups) - MOST_GROUPS, 0),
        complete=read.complete,
    )


def _group(identity: str, message: str, found: list[Failure], until: datetime, hours: float) -> ErrorGroup:
    newest_one = found[0]
    return ErrorGroup(
        id=identity,
        type=newest_one.type,
        kind=newest_one.kind,
        message=message,
        example=newest_one.message or "",
        where=newest_one.place,
        stages=tuple(sorted({stage_label(one.pipeline, one.stage) for one in found})),
        count=len(found),
        first_seen=min(one.finished_at for one in found),
        last_seen=max(one.finished_at for one in found),
        trend=trend((one.finished_at for one in found), until=until, hours=hours),
        example_task_id=newest_one.task_id,
    )
