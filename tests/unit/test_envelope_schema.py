"""The schema in the documentation and the reader in the code give the same answers."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema
import orjson
import pytest

from penstock.brokers.envelope import Envelope, UnknownVersion, Unreadable, decode, job_id_of

PAGE = Path(__file__).parents[2] / "docs" / "messages.md"
SCHEMA, EXAMPLE = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[:2]
GOOD: dict[str, Any] = orjson.loads(
    Envelope(
        job_id=job_id_of(UUID(int=1), 7),
        type="imports/read",
        task_id=7,
        lane=3,
        priority=-10,
        attempt=1,
        max_attempts=3,
        created_at=datetime(2026, 11, 15, 9, 30, tzinfo=UTC),
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="b7ad6b7169203331",
    ).encode()
)
GONE = object()
WRONG: list[tuple[str, Any]] = [
    ("header", GONE),
    ("header", []),
    ("body", GONE),
    ("tracing", None),
    ("extra", {}),
    ("header.job_id", GONE),
    ("header.job_id", "7"),
    ("header.job_id", 7),
    ("header.type", ""),
    ("header.type", "x" * 501),
    ("header.type", None),
    ("header.version", 2),
    ("header.version", "1"),
    ("header.version", True),
    ("header.created_at", "yesterday"),
    ("header.created_at", "2026-11-15T09:30:00"),
    ("header.created_at", 1_763_199_000),
    ("header.attempt", 0),
    ("header.attempt", 1.5),
    ("header.attempt", "1"),
    ("header.max_attempts", 32_768),
    ("header.more", 1),
    ("body.task_id", 0),
    ("body.task_id", "7"),
    ("body.task_id", GONE),
    ("body.lane", -1),
    ("body.priority", 101),
    ("body.priority", None),
    ("body.payload", {"a": 1}),
    ("tracing.trace_id", "0AF7651916CD43DD8448EB211C80319C"),
    ("tracing.trace_id", "abc"),
    ("tracing.span_id", GONE),
    ("tracing.span_id", 7),
]
RIGHT: list[tuple[str, Any]] = [
    ("header.type", "résumés"),
    ("header.attempt", 32_767),
    ("header.created_at", "2026-11-15T09:30:00.123456+02:00"),
    ("header.created_at", "2026-11-15T09:30:00Z"),
    ("body.task_id", 2**63 - 1),
    ("body.priority", -100),
    ("tracing.trace_id", None),
]


def changed(path: str, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = orjson.loads(orjson.dumps(GOOD))
    *parts, last = path.split(".")
    place = copy
    for part in parts:
        place = place[part]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return copy


def allowed(message: Any) -> bool:
    return jsonschema.Draft202012Validator(orjson.loads(SCHEMA)).is_valid(message)


def test_what_the_relay_writes_is_allowed() -> None:
    assert allowed(GOOD) and decode(orjson.dumps(GOOD)).task_id == 7


@pytest.mark.parametrize(("path", "value"), RIGHT)
def test_schema_and_reader_accept(path: str, value: Any) -> None:
    message = changed(path, value)
    decode(orjson.dumps(message))
    assert allowed(message)


@pytest.mark.parametrize(("path", "value"), WRONG)
def test_schema_and_reader_refuse(path: str, value: Any) -> None:
    message = changed(path, value)
    with pytest.raises((Unreadable, UnknownVersion)):
        decode(orjson.dumps(message))
    assert not allowed(message)


def test_the_message_on_the_page_fits_the_schema() -> None:
    assert allowed(orjson.loads(EXAMPLE)) and decode(EXAMPLE.encode()).version == 1
