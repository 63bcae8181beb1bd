"""What an exception means, and how long to wait before the next try."""

import random
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from penstock.core.payload import clean_text
from penstock.errors import (
    HandlerError,
    InvalidSetting,
    PermanentError,
    ThrottledError,
    TransientError,
    UsageError,
)

_HTTP_THROTTLED = 429
_LONGEST_WAIT_SECONDS = 24 * 3600.0
# A task of another release is left alone for half as long as it has waited already, within these.
_SKEW_GROWTH = 0.5
_SHORTEST_SKEW_SECONDS, _LONGEST_SKEW_SECONDS = 5.0, 900.0
# A year or a zone with twenty digits is no ValueError to the library that reads it.
_NO_DATE = (TypeError, ValueError, OverflowError, IndexError)
# Frames between a handler and what it called: nobody looks for their error there.
_OWN = re.compile(r"/penstock/(application\.py$|(core|workers|fleet|limits|schedules|control|insight|brokers)/)")


class ErrorClass(StrEnum):
    TRANSIENT = "transient"
    THROTTLED = "throttled"
    PERMANENT = "permanent"
    TIMEOUT = "timeout"
    CRASH = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Delays grow by ``factor`` from ``base_seconds``: 1 s, 2 s, 4 s by default, each with jitter.

    ``permanent`` and ``transient`` name exception classes of yours; anything not named is transient, except
    HTTP answers 400-499 (other than 408, 425 and 429), which no retry will change.
    """

    base_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 3600.0
    jitter: float = 0.1
    permanent: tuple[type[BaseException], ...] = ()
    transient: tuple[type[BaseException], ...] = ()
    delays: Mapping[ErrorClass, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.base_seconds < 0:
            raise InvalidSetting("retry.base_seconds", self.base_seconds, "it has to be 0 or more")
        if self.factor < 1:
            raise InvalidSetting("retry.factor", self.factor, "delays cannot shrink; use 1 or more")
        if not 0 <= self.jitter <= 1:
            raise InvalidSetting("retry.jitter", self.jitter, "it is a share of the delay, 0 to 1")

    def delay_seconds(
        self, attempt: int, kind: ErrorClass = ErrorClass.TRANSIENT, chance: float | None = None
    ) -> float:
        """The wait after the given attempt (1 is the first) failed."""
        base = self.delays.get(kind, self.base_seconds)
        grown = min(base * self.factor ** max(attempt - 1, 0), self.cap_seconds)
        spread = random.random() if chance is None else chance
        return grown * (1 + self.jitter * spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of an exception."""

    kind: ErrorClass
    retry_after_seconds: float | None = None
    limiter_key: str | None = None


class Relayed(HandlerError):
    """What a handler raised in another process: judged and described there, where its class was at hand."""

    def __init__(self, described: dict[str, Any], verdict: Verdict) -> None:
        Exception.__init__(self, f"{described.get('type')}: {described.get('message')}")
        self.described = described
        self.verdict = verdict


class RelayedTransient(Relayed, TransientError):
    pass


class RelayedPermanent(Relayed, PermanentError):
    pass


class RelayedThrottled(Relayed, ThrottledError):
    def __init__(self, described: dict[str, Any], verdict: Verdict) -> None:
        super().__init__(described, verdict)
        self.retry_after = verdict.retry_after_seconds or 1.0
        self.key = verdict.limiter_key


def relayed(described: dict[str, Any], verdict: Verdict) -> Relayed:
    match verdict.kind:
        case ErrorClass.PERMANENT:
            return RelayedPermanent(described, verdict)
        case ErrorClass.THROTTLED:
            return RelayedThrottled(described, verdict)
        case _:
            return RelayedTransient(described, verdict)


def classify(error: BaseException, policy: RetryPolicy) -> Verdict:
    if isinstance(error, Relayed):
        return error.verdict
    if isinstance(error, policy.transient):
        return Verdict(kind=ErrorClass.TRANSIENT)
    if isinstance(error, (*policy.permanent, PermanentError, UsageError)):
        return Verdict(kind=ErrorClass.PERMANENT)
    if isinstance(error, ThrottledError):
        return Verdict(
            kind=ErrorClass.THROTTLED,
            retry_after_seconds=_bounded(error.retry_after),
            limiter_key=error.key,
        )
    if isinstance(error, TransientError):
        return Verdict(kind=ErrorClass.TRANSIENT)
    return _by_http_status(error)


def http_status(error: BaseException) -> int | None:
    """Of the answer that errors of httpx, requests and aiohttp carry; None: there was none."""
    status = getattr(getattr(error, "response", None), "status_code", None) or getattr(error, "status", None)
    return status if isinstance(status, int) else None


def http_headers(error: BaseException) -> Any:
    return getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None) or {}


def _by_http_status(error: BaseException) -> Verdict:
    """It says more than the exception class."""
    status = http_status(error)
    if status is None:
        return Verdict(kind=ErrorClass.TRANSIENT)
    headers = http_headers(error)
    if status == _HTTP_THROTTLED:
        return Verdict(kind=ErrorClass.THROTTLED, retry_after_seconds=retry_after_seconds(headers) or 1.0)
    if 400 <= status < 500 and status not in (408, 425):
        return Verdict(kind=ErrorClass.PERMANENT)
    return Verdict(kind=ErrorClass.TRANSIENT, retry_after_seconds=retry_after_seconds(headers))


def retry_after_seconds(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """``Retry-After`` in seconds or as a date; None where it is missing or makes no sense."""
    value = headers.get("Retry-After") or headers.get("retry-after")
    if value is None:
        return None
    text = str(value)
    try:
        wait = float(text)
    except ValueError:
        when = date_of(text)
        if when is None:
            return None
        wait = (when - (now or datetime.now(UTC))).total_seconds()
    if wait != wait:  # NaN
        return None
    return min(max(wait, 0.0), _LONGEST_WAIT_SECONDS)


def date_of(text: str | None) -> datetime | None:
    """Aware. None: there is none, or it is no date that a calendar has. The other side may send any text;
    none of it may raise here."""
    if not text:
        return None
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            when = read(text)
        except _NO_DATE:
            continue
        return when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return None


def describe(error: BaseException, kind: ErrorClass) -> dict[str, Any]:
    """The error as it is stored: enough to look, group and decide."""
    if isinstance(error, Relayed):
        return {**error.described, "class": kind.value}
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _OWN.search(frame.filename)]
    last = own[-1] if own else None
    # Which budget held it up, for `tasks why`.
    key = {"key": clean_text(error.key)} if isinstance(error, ThrottledError) and error.key is not None else {}
    return {
        **key,
        "class": kind.value,
        "type": type(error).__qualname__,
        "message": clean_text(_text_of(error), 4000),
        "where": f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno} {last.name}" if last else None,
        "traceback": clean_text("".join(traceback.format_exception(error)[-12:]), 8000),
    }


def _bounded(wait: float) -> float:
    """What a handler says about a wait may be any number, or none."""
    try:
        seconds = float(wait)
    except OverflowError:  # a whole number that no float can hold
        return _LONGEST_WAIT_SECONDS if wait > 0 else 0.0
    except (TypeError, ValueError):
        return 1.0
    return min(max(seconds, 0.0), _LONGEST_WAIT_SECONDS) if seconds == seconds else 1.0


def _text_of(error: BaseException) -> str:
    """An exception may fail to describe itself; its task still has to end."""
    try:
        return str(error)
    except Exception as problem:
        return f"its text cannot be read: __str__ raised {type(problem).__name__}"


def waited(age_seconds: float) -> float:
    """How long a task that this release cannot run is left alone next."""
    return min(max(age_seconds * _SKEW_GROWTH, _SHORTEST_SKEW_SECONDS), _LONGEST_SKEW_SECONDS)
