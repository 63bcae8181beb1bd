"""The message on the wire: what is written is read, what is not ours is refused, and the quick way is as strict."""

from datetime import UTC, datetime
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as some

from penstock.brokers.envelope import LARGEST_BYTES, Envelope, UnknownVersion, Unreadable, decode, job_id_of, reference

INSTALLATION = UUID("6b1f7f0e-9a55-4f6e-8a0b-1d2c3b4a5968")

envelopes = some.builds(
    Envelope,
    job_id=some.uuids().map(str),
    type=some.text(min_size=1, max_size=40),
    task_id=some.integers(1, 2**63 - 1),
    lane=some.integers(1, 2**63 - 1),
    priority=some.integers(-100, 100),
    attempt=some.integers(1, 32_767),
    max_attempts=some.integers(1, 32_767),
    created_at=some.integers(0, 32_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds / 7, UTC)),
    trace_id=some.none() | some.text("0123456789abcdef", min_size=32, max_size=32),
    span_id=some.none() | some.text("0123456789abcdef", min_size=16, max_size=16),
    version=some.just(1),
)


@given(envelopes)
def test_what_is_written_is_read_both_ways(envelope: Envelope) -> None:
    raw = envelope.encode()
    assert decode(raw) == envelope
    assert reference(raw) == (envelope.job_id, envelope.type, envelope.task_id)


@given(envelopes, some.data())
def test_the_quick_way_is_as_strict_as_the_long_one(envelope: Envelope, data: some.DataObject) -> None:
    raw = bytearray(envelope.encode())
    for _ in range(data.draw(some.integers(1, 3))):
        place = data.draw(some.integers(0, len(raw) - 1))
        raw[place : place + data.draw(some.integers(0, 2))] = data.draw(some.binary(max_size=2))
    changed = bytes(raw)
    assert _outcome(reference, changed) == _outcome(lambda given: _reference_of(decode(given)), changed)


def _reference_of(envelope: Envelope) -> tuple[str, str, int]:
    return (envelope.job_id, envelope.type, envelope.task_id)


def _outcome(read: object, raw: bytes) -> object:
    try:
        return tuple(read(raw))  # type: ignore[operator]
    except (Unreadable, UnknownVersion) as refused:
        return type(refused), str(refused)


@given(some.binary(max_size=200))
def test_bytes_that_nobody_wrote_are_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        reference(raw)


def test_a_message_above_the_limit_is_unreadable_whatever_it_says() -> None:
    with pytest.raises(Unreadable, match="at most 65,536"):
        reference(b" " * (LARGEST_BYTES + 1))


def test_each_way_to_be_unreadable_has_its_kind() -> None:
    """What is counted is the kind; the clauses are for people and may change."""
    good = Envelope(
        job_id=job_id_of(INSTALLATION, 17), type="add", task_id=17, lane=3, priority=0, attempt=1, max_attempts=3,
        created_at=datetime(2026, 11, 15, tzinfo=UTC),
    ).encode()  # fmt: skip
    wrong = {
        b" " * (LARGEST_BYTES + 1): "oversized",
        b"junk": "no json",
        b"{}": "shape",
        good.replace(b'"version":1', b'"version":0'): "version",
        good.replace(b'"tracing"', b'"trace"'): "shape",
        good.replace(b'"lane":3,', b""): "shape",
        good.replace(b'"lane":3', b'"lane":0'): "value",
        good.replace(b'"add"', b'""'): "value",
        good.replace(b'"span_id":null', b'"span_id":"x"'): "value",
        good.replace(b"2026-", b"year "): "value",
        good.replace(b'"job_id":"', b'"job_id":"x'): "value",
    }
    for raw, kind in wrong.items():
        with pytest.raises(Unreadable) as refused:
            decode(raw)
        assert refused.value.kind == kind, refused.value.reason


def test_the_job_id_is_the_uuid_of_the_task_in_its_installation() -> None:
    assert job_id_of(INSTALLATION, 17) == str(uuid5(INSTALLATION, "17"))
