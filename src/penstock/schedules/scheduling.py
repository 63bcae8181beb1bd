"""Schedules: what code declares, which of their fire times are due, and how people see them. What people do with them
is in ``control/schedules.py``, when a time comes in ``fire_times.py``.

A plan is made first (:func:`plan`, pure) and written afterwards by ``upkeep/firing.py``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice, takewhile
from typing import Any, Literal, cast, get_args

from penstock.core.enqueue import EnqueueOptions
from penstock.core.payload import encode
from penstock.errors import InvalidDefinition, NotKnown, UsageError
from penstock.model import MAX_INPUT_BYTES, priority_number, seconds
from penstock.schedules.fire_times import after_interval, after_wall_clock, interval_seconds, readable, zone_of
from penstock.storage import schedules
from penstock.storage.database import translated
from penstock.storage.schedules import NewSchedule, Schedule

Missed = Literal["one", "all", "skip"]

LATE_SECONDS = 60.0  # a `skip` schedule still fires when it is late by no more than this
FIRES_PER_PLAN = 1_000
_LONGEST_NAME = 200
_OPTIONS = ("priority", "lane", "owner", "unique_key", "max_attempts", "timeout")
UPCOMING = 5
Connection = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDefinition:
    """A task to enqueue at the times of ``cron`` on the clocks of ``timezone``.

    ``missed`` says what happens to times at which no worker was there: ``one`` fires once for the newest of
    them, ``all`` fires each, ``skip`` none. ``options`` are those of an enqueue: priority, lane, owner,
    unique_key, max_attempts, timeout.
    """

    name: str
    cron: str
    pipeline: str
    timezone: str = "UTC"
    input: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    missed: Missed = "one"

    def __post_init__(self) -> None:
        for problem in (
            _name_problem(self.name),
            readable(self.cron),
            _zone_problem(self.timezone),
            None if self.pipeline else "pipeline is empty; name the task or pipeline it enqueues",
            _missed_problem(self.missed),
            _input_problem(self.input),
            _options_problem(self.options),
        ):
            if problem is not None:
                raise InvalidDefinition(what=f"Schedule {self.name!r}", problem=problem)

    @property
    def zone(self) -> tzinfo:
        return zone_of(self.timezone)

    def stored_input(self) -> str:
        return encode(dict(self.input), what="input", limit_bytes=MAX_INPUT_BYTES)

    def stored_options(self) -> str:
        """One spelling per option, so that an unchanged declaration is seen to be unchanged."""
        kept = {name: value for name, value in self.options.items() if value is not None}
        if "priority" in kept:
            kept["priority"] = priority_number(kept["priority"])
        if "timeout" in kept:
            kept["timeout"] = seconds(kept["timeout"])
        return encode(kept, what="options", limit_bytes=MAX_INPUT_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do about a schedule that is due: fire ``times``, then stand at ``next_fire_at``.

    ``skipped`` counts the times that get no task, up to 1,000; ``skipped_more`` says that there were more.
    """

    times: tuple[datetime, ...]
    next_fire_at: datetime | None
    skipped: int = 0
    skipped_more: bool = False


def fires_after(definition: ScheduleDefinition, after: datetime) -> Iterator[datetime]:
    """All fire times later than ``after``, in order, as aware UTC."""
    if (interval := interval_seconds(definition.cron)) is not None:
        return after_interval(interval, after)
    return after_wall_clock(definition.cron, definition.zone, after)


def fires_between(
    definition: ScheduleDefinition, after: datetime, until: datetime, limit: int = FIRES_PER_PLAN
) -> tuple[datetime, ...]:
    """The first ``limit`` fire times later than ``after`` and not later than ``until``."""
    within = takewhile(lambda at: at <= until, fires_after(definition, after))
    return tuple(islice(within, max(limit, 0)))


def next_fire(definition: ScheduleDefinition, after: datetime) -> datetime | None:
    return next(fires_after(definition, after), None)


def latest_fire(definition: ScheduleDefinition, after: datetime, until: datetime) -> datetime | None:
    """The newest fire time in (after, until]. Halves the span instead of walking it: a year without a worker
    holds half a million minutes."""
    low, high = next_fire(definition, after), until
    if low is None or low > until:
        return None
    while (following := next_fire(definition, low)) is not None and following <= high:
        middle = low + (high - low) / 2
        candidate = next_fire(definition, middle)
        if candidate is not None and candidate <= high:
            low = candidate
        else:
            high = middle
    return low


def plan(definition: ScheduleDefinition, due_at: datetime, now: datetime, limit: int = FIRES_PER_PLAN) -> Plan:
    """Decide about a schedule whose stored next time ``due_at`` has come.

    ``due_at`` counts as a fire time even if the cron would not give it any more (the zone got new rules since
    it was stored): better an hour off once than a day missed.
    """
    if definition.missed == "all":
        times = (due_at, *fires_between(definition, due_at, now, limit - 1))
        return Plan(times=times, next_fire_at=next_fire(definition, times[-1]))
    newest = latest_fire(definition, due_at, now) or due_at
    late = definition.missed == "skip" and (now - newest).total_seconds() > LATE_SECONDS
    skipped = 0 if newest == due_at else 1 + _count_before(definition, due_at, newest)
    skipped += late
    return Plan(
        times=() if late else (newest,),
        next_fire_at=next_fire(definition, newest),
        skipped=min(skipped, FIRES_PER_PLAN),
        skipped_more=skipped > FIRES_PER_PLAN,
    )


def fire_key(name: str, at: datetime) -> str:
    """The idempotency key of one fire. The time has a fixed width, so no two schedules share a key."""
    return f"schedule:{name}:{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _count_before(definition: ScheduleDefinition, after: datetime, newest: datetime) -> int:
    """Fire times strictly between the two, counted no further than anybody wants to read."""
    earlier = takewhile(lambda at: at < newest, fires_after(definition, after))
    return sum(1 for _ in islice(earlier, FIRES_PER_PLAN))


def _name_problem(name: str) -> str | None:
    if not 1 <= len(name) <= _LONGEST_NAME:
        return f"its name has {len(name)} characters; use 1 to {_LONGEST_NAME}"
    return None if name.isprintable() else "its name contains characters that cannot be printed"


def _zone_problem(timezone: str) -> str | None:
    try:
        zone_of(timezone)
    except ValueError as error:
        return f"timezone = {timezone!r} {error}"
    return None


def _missed_problem(missed: str) -> str | None:
    known = get_args(Missed)
    return None if missed in known else f"missed = {missed!r} is no policy; use {', '.join(known)}"


def _input_problem(given: object) -> str | None:
    if not isinstance(given, Mapping):
        return f"input is {type(given).__name__}; give an object of arguments"
    try:
        encode(dict(given), what="input", limit_bytes=MAX_INPUT_BYTES)
    except UsageError as error:
        return str(error).rstrip(".")
    return None


def _options_problem(options: Mapping[str, Any]) -> str | None:
    if unknown := sorted(set(options) - set(_OPTIONS)):
        return f"option {unknown[0]!r} is not known; use {', '.join(_OPTIONS)}"
    kept = {name: value for name, value in options.items() if value is not None}
    try:
        priority_number(EnqueueOptions(**kept).priority)
    except (UsageError, TypeError, ValueError) as error:
        return f"options = {dict(options)!r}: {str(error).rstrip('.')}"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A schedule as people see it. ``upcoming`` is empty while it is paused or stopped."""

    schedule: Schedule
    upcoming: tuple[datetime, ...]


def times_of(schedule: Schedule) -> ScheduleDefinition:
    """When it fires, without what it enqueues: a bad input must not keep anybody from knowing the times.

    Checked again: the row may have been written by hand, or on a machine that knows other time zones.
    """
    return ScheduleDefinition(
        name=schedule.name,
        cron=schedule.cron,
        timezone=schedule.timezone,
        pipeline=schedule.pipeline,
        missed=cast(Missed, schedule.missed),
    )


async def declare(
    connection: Connection, definitions: Iterable[ScheduleDefinition], *, source: str = "app"
) -> dict[str, int]:
    """Store what the code of ``source`` declares. What it declared earlier and does not any more keeps firing
    and is marked: a worker started with half of the modules imported must not stop anybody's nightly run."""
    wanted = list(definitions)
    twice = [name for name, count in Counter(one.name for one in wanted).items() if count > 1]
    if twice:
        raise InvalidDefinition(what=f"Schedule {twice[0]!r}", problem="two schedules have this name; rename one")
    with translated():
        async with connection.transaction():
            now = await schedules.database_now(connection)
            changed = await schedules.declare(connection, [new_row(one, now) for one in wanted], source)
            left = await schedules.undeclare(connection, source, [one.name for one in wanted])
    return {"declared": len(wanted), "changed": len(changed), "left": len(left)}


async def show(connection: Connection, name: str) -> ScheduleView:
    with translated():
        found = await schedules.get(connection, name)
        if found is None:
            raise await not_known(connection, name)
    return _view(found)


async def listing(connection: Connection) -> list[ScheduleView]:
    """All of them, as they are now."""
    with translated():
        return [_view(schedule) for schedule in await schedules.listing(connection)]


def _view(schedule: Schedule) -> ScheduleView:
    """A row that cannot be read is shown like any other: its last error says what is wrong."""
    upcoming: tuple[datetime, ...] = ()
    if schedule.paused_at is None and schedule.next_fire_at is not None:
        try:
            later = fires_after(times_of(schedule), schedule.next_fire_at)
            upcoming = (schedule.next_fire_at, *islice(later, UPCOMING - 1))
        except InvalidDefinition:
            upcoming = ()
    return ScheduleView(schedule=schedule, upcoming=upcoming)


def new_row(definition: ScheduleDefinition, now: datetime) -> NewSchedule:
    return NewSchedule(
        name=definition.name,
        cron=definition.cron,
        timezone=definition.timezone,
        pipeline=definition.pipeline,
        input=definition.stored_input(),
        options=definition.stored_options(),
        missed=definition.missed,
        next_fire_at=next_fire(definition, now),
    )


async def not_known(connection: Connection, name: str) -> NotKnown:
    return NotKnown(kind="schedule", name=name, known=await schedules.names(connection))
