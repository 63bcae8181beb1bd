"""The records that travel between the parts of the engine."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, cast

from penstock.errors import InvalidSetting
from penstock.lifecycle import State

MAX_INPUT_BYTES = 64 * 1024
LONGEST_SECONDS = 10 * 365 * 86_400.0
LONGEST_TIMEOUT_SECONDS = 30 * 86_400.0
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Priority(IntEnum):
    """Names for the usual priorities. Any number from -100 to 100 works; lower runs first.

    Strict between numbers, fair between lanes of the same number.
    """

    HIGH = -10
    NORMAL = 0
    LOW = 10


def priority_number(priority: int | str | Priority) -> int:
    """Accepts 'high', 'normal', 'low' or a number."""
    if isinstance(priority, str):
        try:
            return int(Priority[priority.upper()])
        except KeyError:
            raise InvalidSetting("priority", priority, "use high, normal, low or a number from -100 to 100") from None
    if not -100 <= priority <= 100:
        raise InvalidSetting("priority", priority, "numbers go from -100 (first) to 100 (last)")
    return int(priority)


def seconds(value: float | timedelta) -> float:
    """Durations are given as seconds or as a timedelta."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


# ---------------------------------------------------------------- how a handler may end by returning


@dataclass(frozen=True, slots=True)
class Done:
    """The task is done; the same as returning the value itself."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class NotFound:
    """What the task looked for does not exist. An ending, not an error.

    With ``again_after`` the task looks again after that long, which burns an attempt; when there are no more
    (`PENSTOCK_MAX_ATTEMPTS_NOT_FOUND`), it ends NOT_FOUND. A handler sees from ``ctx.attempt`` which way to look now.
    """

    reason: str = ""
    again_after: float | timedelta | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """There was nothing to do."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Snooze:
    """Not now: wait this long and call me again. Burns no attempt."""

    delay: float | timedelta
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cancel:
    """The task is not wanted any more."""

    reason: str = ""


Ending = Done | NotFound | Skip | Snooze | Cancel


# ---------------------------------------------------------------- between claim, run and settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What a later stage of a pipeline begins with: the result of the stage before as JSON, and the run that made it.

    ``reusable``: what this stage made of the very same input in the run ``reusable_from``, by code of the same version.
    ``deferred``: these are large, and are fetched when the task begins: a thousand of them may wait in an inbox.
    """

    previous: str | None = None
    previous_run: int = 0
    reusable: str | None = None
    reusable_from: int | None = None
    deferred: bool = False


NOTHING_EARLIER = Earlier()


class Claimed:
    """A leased task on its way through a runner.

    Made for every task, so it copies only what the hot path reads and leaves the rest in the row it came in:
    task_id, lease, stage, lane, attempt, max_attempts, crashes, run, run_at, input, job_id, options,
    idempotency_key, trace, rescues.
    """

    __slots__ = (
        "_row",
        "crashes",
        "earlier",
        "input",
        "job_id",
        "lane",
        "lease",
        "options",
        "rescues",
        "stage",
        "task_id",
    )

    def __init__(self, row: Sequence[Any]) -> None:
        self._row = row
        self.task_id: int = row[0]
        self.lease: int = row[1]
        self.stage: int = row[2]
        self.lane: int = row[3]
        self.crashes: int = row[6]
        self.input: str = row[9]
        self.job_id: int | None = row[10]
        self.options: str | None = row[11]
        # How often it was taken from a dead worker without knowing whether it ran.
        self.rescues: int = row[14]
        # Filled in after the claim for later stages of a pipeline.
        self.earlier = NOTHING_EARLIER

    @classmethod
    def of(
        cls,
        *,
        task_id: int,
        lease: int,
        stage: int = 0,
        lane: int = 0,
        attempt: int = 0,
        max_attempts: int = 3,
        crashes: int = 0,
        run: int = 1,
        run_at: datetime = _LONG_AGO,
        input: str = "{}",
        job_id: int | None = None,
        options: str | None = None,
        idempotency_key: str | None = None,
        trace: str | None = None,
        rescues: int = 0,
    ) -> "Claimed":
        """By name, where no row is at hand: in a child process, in tests."""
        row = (task_id, lease, stage, lane, attempt, max_attempts, crashes, run, run_at, input, job_id, options)
        return cls((*row, idempotency_key, trace, rescues))

    @property
    def leased(self) -> tuple[int, int, int]:
        """Task, lease and stage: what every settlement begins with."""
        return self.task_id, self.lease, self.stage

    @property
    def attempt(self) -> int:
        """Attempts burned before this run."""
        return cast(int, self._row[4])

    @property
    def max_attempts(self) -> int:
        return cast(int, self._row[5])

    @property
    def run(self) -> int:
        return cast(int, self._row[7])

    @property
    def run_at(self) -> datetime:
        return cast(datetime, self._row[8])

    @property
    def idempotency_key(self) -> str | None:
        return cast(str | None, self._row[12])

    @property
    def trace(self) -> str | None:
        return cast(str | None, self._row[13])


@dataclass(slots=True, eq=False)
class Finish:
    """Settlement: the task ends. ``result`` and ``error`` are encoded JSON. Not frozen: there is one for every task."""

    task_id: int
    lease: int
    stage: int
    status: State
    result: str | None
    error: str | None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Advance:
    """Settlement: the stage is done, the next one waits."""

    task_id: int
    lease: int
    stage: int
    _: KW_ONLY
    next_stage: int
    result: str | None
    version: str | None = None
    # Whether somebody will compare the result: a digest of it is kept then.
    hashed: bool = False
    reused_from: int | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Settlement: the task waits again. ``delay_seconds`` None keeps its place in the lane."""

    task_id: int
    lease: int
    stage: int
    _: KW_ONLY
    cause: str | None
    delay_seconds: float | None = None
    burned: bool = False
    crashed: bool = False
    rescued: bool = False
    error: str | None = None


Settlement = Finish | Advance | Release


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    """What a worker knows of a lane it may claim from."""

    id: int
    pipeline: str
    priority: int
    weight: int
    max_running: int | None
    paused: bool
