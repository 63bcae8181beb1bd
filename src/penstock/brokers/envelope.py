"""The message itself: a strict envelope around a reference. ``docs/messages.md`` has its JSON schema.

Strict, because a message is somebody else's bytes: what is missing, extra or of another kind is unreadable, and goes to
the dead-letter queue as it came. An unknown version is not unreadable: a newer worker may know it.
"""

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from uuid import UUID

import orjson

from penstock.errors import PenstockError

VERSION = 1
LARGEST_BYTES = 64 * 1024
_HEADER = {"job_id", "type", "version", "created_at", "attempt", "max_attempts"}
_BODY = {"task_id", "lane", "priority"}
_TRACING = {"trace_id", "span_id"}
_LARGEST_ID = 2**63 - 1
# The digit that says how a UUID is laid out: its first two bits are 1 and 0.
_VARIANT = {digit: f"{int(digit, 16) & 0x3 | 0x8:x}" for digit in "0123456789abcdef"}
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What `encode` writes, which is what nearly every message is. Whatever looks different is read the long way, and so are
# the last days of a month, which not every month has.
_OURS = re.compile(
    rb'\{"header":\{"job_id":"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})","type":"([^"\\\x00-\x1f]{1,400})","version":1,'
    rb'"created_at":"[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'
    rb'(?:\.[0-9]{1,6})?\+00:00","attempt":[1-9][0-9]{0,3},"max_attempts":[1-9][0-9]{0,3}\},'
    rb'"body":\{"task_id":([1-9][0-9]{0,17}),"lane":([1-9][0-9]{0,17}),"priority":(0|-?[1-9][0-9]?)\},'
    rb'"tracing":\{"trace_id":(?:null|"[0-9a-f]{32}"),"span_id":(?:null|"[0-9a-f]{16}")\}\}'
)


Kind = Literal["oversized", "no json", "version", "shape", "value", "forged"]


class Unreadable(PenstockError):
    """No envelope of ours, whatever the version. ``reason`` is one clause, ``kind`` the same in a word for counting."""

    def __init__(self, reason: str, kind: Kind) -> None:
        self.reason = reason
        self.kind = kind
        super().__init__(f"The message cannot be read: {reason}.")


class UnknownVersion(PenstockError):
    """An envelope of a kind this program does not know: left for a newer worker."""

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(f"The message has version {version}, and this program knows version {VERSION}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """``job_id`` is made from the installation and the task, so that a forged or foreign message is noticed.
    ``type``: pipeline, or pipeline/stage. ``attempt``: which try the next one is, 1 being the first."""

    job_id: str
    type: str
    task_id: int
    lane: int
    priority: int
    attempt: int
    max_attempts: int
    created_at: datetime
    trace_id: str | None = None
    span_id: str | None = None
    version: int = VERSION

    def encode(self) -> bytes:
        return orjson.dumps(
            {
                "header": {
                    "job_id": self.job_id,
                    "type": self.type,
                    "version": self.version,
                    "created_at": self.created_at,
                    "attempt": self.attempt,
                    "max_attempts": self.max_attempts,
                },
                "body": {"task_id": self.task_id, "lane": self.lane, "priority": self.priority},
                "tracing": {"trace_id": self.trace_id, "span_id": self.span_id},
            }
        )


def job_id_of(installation: UUID, task_id: int) -> str:
    """A UUID of version 5: the installation is the name space, the task the name."""
    hashed = _name_space(installation).copy()
    hashed.update(b"%d" % task_id)
    text = hashed.hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}"


@lru_cache(maxsize=16)
def _name_space(installation: UUID) -> "hashlib._Hash":
    return hashlib.sha1(installation.bytes, usedforsecurity=False)


class Reference(NamedTuple):
    """What a worker needs of an envelope."""

    job_id: str
    type: str
    task_id: int


def reference(raw: bytes) -> Reference:
    """As strict as ``decode``, and quick for envelopes as ``encode`` writes them."""
    if len(raw) <= LARGEST_BYTES and (ours := _OURS.fullmatch(raw)) is not None:
        job_id, kind, task_id = ours.group(1, 2, 3)
        with suppress(UnicodeDecodeError):
            return Reference(job_id.decode(), kind.decode(), int(task_id))
    envelope = decode(raw)
    return Reference(envelope.job_id, envelope.type, envelope.task_id)


def trace_of(traceparent: str | None) -> tuple[str | None, str | None]:
    """Trace and span of a W3C traceparent (version, trace, span, flags); neither where it is none."""
    parts = (traceparent or "").split("-")
    return (parts[1], parts[2]) if len(parts) == 4 and len(parts[1]) == 32 and len(parts[2]) == 16 else (None, None)


def decode(raw: bytes) -> Envelope:
    """Raises ``Unreadable`` or ``UnknownVersion``."""
    if len(raw) > LARGEST_BYTES:
        raise Unreadable(f"it has {len(raw):,} bytes, and at most {LARGEST_BYTES:,} are allowed", "oversized")
    try:
        given = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise Unreadable("it is no JSON", "no json") from None
    if not isinstance(given, dict) or not isinstance(header := given.get("header"), dict):
        raise Unreadable("it has no header", "shape")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise Unreadable(f"header.version is {_shown(version)}, not a whole number from 1", "version")
    if version != VERSION:
        raise UnknownVersion(version)
    if given.keys() != {"header", "body", "tracing"}:
        raise Unreadable("its parts are not header, body and tracing", "shape")
    body, tracing = _part(given, "body", _BODY), _part(given, "tracing", _TRACING)
    _part(given, "header", _HEADER)
    return Envelope(
        job_id=_uuid(header["job_id"]),
        type=_text(header["type"], "header.type", 500),
        created_at=_time(header["created_at"]),
        attempt=_whole(header["attempt"], "header.attempt", 1, 32_767),
        max_attempts=_whole(header["max_attempts"], "header.max_attempts", 1, 32_767),
        task_id=_whole(body["task_id"], "body.task_id", 1, _LARGEST_ID),
        lane=_whole(body["lane"], "body.lane", 1, _LARGEST_ID),
        priority=_whole(body["priority"], "body.priority", -100, 100),
        trace_id=_trace(tracing["trace_id"], "tracing.trace_id", 32),
        span_id=_trace(tracing["span_id"], "tracing.span_id", 16),
    )


def _part(given: dict[str, Any], name: str, keys: set[str]) -> dict[str, Any]:
    part = given[name]
    if not isinstance(part, dict) or part.keys() != keys:
        raise Unreadable(f"{name} does not hold exactly {', '.join(sorted(keys))}", "shape")
    return part


def _whole(value: object, name: str, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise Unreadable(f"{name} is {_shown(value)}, not a whole number from {least} to {most}", "value")
    return value


def _text(value: object, name: str, longest: int) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise Unreadable(f"{name} is {_shown(value)}, not a text of 1 to {longest} characters", "value")
    return value


def _trace(value: object, name: str, digits: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) != digits or set(value) - set("0123456789abcdef"):
        raise Unreadable(f"{name} is {_shown(value)}, neither null nor {digits} hexadecimal digits", "value")
    return value


def _uuid(value: object) -> str:
    if not isinstance(value, str) or _UUID.fullmatch(value) is None:
        raise Unreadable(f"header.job_id is {_shown(value)}, not a UUID", "value")
    return value


def _time(value: object) -> datetime:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise Unreadable(f"header.created_at is {_shown(value)}, not a time with its zone", "value")
    return time.astimezone(UTC)


def _shown(value: object) -> str:
    return repr(value)[:60]
