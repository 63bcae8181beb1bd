"""When a cron expression fires, across the days on which clocks are changed. Pure.

cronsim reads the expression and walks the calendar *without* a time zone; the zone is applied here. Its own
zone handling loses times where clocks move by half an hour (Lord Howe: `45 * * * *` skips an hour), and asked
in the repeated hour of autumn it may answer with a time that is past, which a stored position cannot bear.

The rules are those of Debian's cron:

- A **fixed** job (neither the minute nor the hour starts with ``*``) fires once for each time it names. A
  time that the clocks jump over fires at the end of the jump; a time that comes twice fires the first time.
- A **running** job (``*`` or ``*/n`` in minute or hour) fires whenever the clock on the wall shows its time:
  an hourly job fires every real hour.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_EVERY = re.compile(r"@every ([1-9][0-9]{0,7})([smhd])")
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_UNITS = (("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400))
_LONGEST_INTERVAL_SECONDS = 366 * 86_400
_LONGEST_CRON = 200
_FIELDS = 5
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOW = (
    "write five fields (minute hour day month weekday) such as '*/15 8-18 * * MON-FRI', "
    f"or {', '.join(_NAMED)}, or an interval such as '@every 30s'"
)


def readable(cron: str) -> str | None:
    """None, or what is wrong with the expression."""
    if interval_seconds(cron) is not None:
        return None
    expression = _NAMED.get(cron, cron)
    if len(cron) > _LONGEST_CRON:
        return f"cron is {len(cron)} characters long, at most {_LONGEST_CRON} are read; {_HOW}"
    if len(expression.split()) != _FIELDS:
        return f"cron = {cron!r} does not have five fields; {_HOW}"
    try:
        first = next(CronSim(expression, datetime(2000, 1, 1)), None)  # noqa: DTZ001 - the calendar has no zone
    except (CronSimError, ValueError) as error:
        return f"cron = {cron!r} cannot be read ({error}); {_HOW}"
    return None if first is not None else f"cron = {cron!r} names a day that never comes; {_HOW}"


def in_words(cron: str) -> str:
    """For people: "At 04:23 every day". What cannot be read stays as it is."""
    if (seconds := interval_seconds(cron)) is not None:
        unit, each = next((name, each) for name, each in reversed(_UNITS) if seconds % each == 0)
        return f"Every {seconds // each} {unit}s" if seconds != each else f"Every {unit}"
    try:
        return CronSim(_NAMED.get(cron, cron), datetime(2000, 1, 1)).explain()  # noqa: DTZ001 - the calendar has no zone
    except (CronSimError, ValueError):
        return cron


def interval_seconds(cron: str) -> int | None:
    """The length of an ``@every`` interval, a year at most; None for anything else."""
    match = _EVERY.fullmatch(cron)
    length = 0 if match is None else int(match[1]) * _UNIT_SECONDS[match[2]]
    return length if 0 < length <= _LONGEST_INTERVAL_SECONDS else None


def zone_of(name: str) -> tzinfo:
    """The zone, or a ValueError that ends a sentence. UTC needs no zone files on the machine."""
    if name == "UTC":
        return UTC
    try:
        if name == "localtime":
            raise ValueError(name)
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        near = get_close_matches(name, sorted(available_timezones()), n=1)
        hint = f"the nearest name is {near[0]!r}" if near else "use a name such as 'Europe/Berlin', or UTC"
        raise ValueError(f"is not a time zone this machine knows; {hint}") from None


def after_interval(interval: int, after: datetime) -> Iterator[datetime]:
    """Multiples of the interval since 1970, so that every worker means the same times."""
    number = (after - _EPOCH) // timedelta(seconds=interval)
    while True:
        number += 1
        yield _EPOCH + timedelta(seconds=number * interval)


def after_wall_clock(cron: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Fire times of a cron expression later than ``after``, as aware UTC."""
    expression = _NAMED.get(cron, cron)
    minute, hour = expression.split()[:2]
    if minute.startswith("*") or hour.startswith("*"):
        return _running(expression, zone, after.astimezone(UTC))
    return _fixed(expression, zone, after.astimezone(UTC))


def _fixed(expression: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    last = after
    for wall in CronSim(expression, _wall(zone, after)):
        # Several times inside one jump all come at its end: that is one fire.
        if (at := _first_moment(zone, wall)) > last:
            last = at
            yield at


def _running(expression: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Between two changes of the clocks the wall is UTC plus a constant: each stretch is walked alone."""
    position = after
    wall = _wall(zone, after)
    while True:
        offset = _offset(zone, position)
        for match in CronSim(expression, wall):
            at = match.replace(tzinfo=UTC) - offset
            change = _next_change(zone, position, at)
            if change is not None:
                position = change
                wall = _wall(zone, change) - _SECOND  # the moment of the change may itself be a fire time
                break
            position = at
            yield at
        else:
            return


def _first_moment(zone: tzinfo, wall: datetime) -> datetime:
    """When the clocks first show ``wall``, or jump over it."""
    early, late = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if late < early:  # only inside a jump: the two readings lie on either side of it
        return _next_change(zone, late, early) or early
    return early


def _next_change(zone: tzinfo, start: datetime, end: datetime) -> datetime | None:
    """The first moment in (start, end] at which the clocks differ from those at ``start``.

    Looks once a day: no zone changes its clocks and changes them back within one.
    """
    offset = _offset(zone, start)
    low = start
    while low < end:
        high = min(low + _DAY, end)
        if _offset(zone, high) != offset:
            return _change_within(zone, offset, low, high)
        low = high
    return None


def _change_within(zone: tzinfo, offset: timedelta, low: datetime, high: datetime) -> datetime:
    """Changes happen at whole seconds, so the search ends there."""
    low = low.replace(microsecond=0)
    high = high if high.microsecond == 0 else high.replace(microsecond=0) + _SECOND
    while high - low > _SECOND:
        middle = low + (high - low) // _SECOND // 2 * _SECOND
        if _offset(zone, middle) == offset:
            low = middle
        else:
            high = middle
    return high


def _wall(zone: tzinfo, at: datetime) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


def _offset(zone: tzinfo, at: datetime) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta(0)
