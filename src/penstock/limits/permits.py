"""The permits of one key inside one process: who waits, who asks the database, who may go and when.

Handlers that wait queue up here and one loop asks for all of them, so a bunch is as large as the demand of
the moment (16 at most) and nothing is kept in stock. A bunch may reach a few hundredths of a second ahead:
each permit carries the moment it is for, so that a key with a burst of 1 loses nothing to round trips. What was
leased and not used in time is thrown away; it is never used late in a heap. Lanes take turns.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Any

from penstock.errors import InvalidSetting, PenstockError, ThrottledError
from penstock.storage.database import DATABASE_FAULTS
from penstock.storage.limits import Grant

BUNCH = 16
# How far ahead a permit may be for: twice the round trip, within these.
_SHORTEST_AHEAD_SECONDS, _LONGEST_AHEAD_SECONDS = 0.05, 0.5
# Each question that brought nothing reaches further ahead by this factor than the one before: who is far from the store
# reaches further all the time, and would leave nothing to those who are near.
_THIRST_FACTOR = 1.5
# Later than this, counted from the question, a permit is void: the process or the line was frozen.
_STALE_SECONDS = 2.0
# Answers are believed for so long, which is also how soon a changed limit is noticed.
_LOOK_AGAIN_SECONDS = 0.5
# Tasks sent away come back one by one over this time, a little faster than the rate: no permit is left over.
_SPREAD_SECONDS, _SPREAD_SHARE = 60.0, 0.8
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
Take = Callable[[Sequence[int], float], Awaitable[Grant]]


@dataclass(slots=True, eq=False)
class Waiter:
    weight: int
    lane: Hashable
    permit: asyncio.Future[Any]


class WaitingLine:
    """Who waits, in the order they are served: lanes take turns, one request each. Adding and removing cost the same
    however many wait.

    A lane with ten thousand waiters does not stand before the single one of another lane. Who comes again, because its
    permit became void, has had its turn and goes first.
    """

    def __init__(self) -> None:
        # Lanes in the order of their turns; a dict keeps the order of coming and forgets quickly.
        self._lanes: dict[Hashable, dict[Waiter, None]] = {}
        self._again: dict[Waiter, None] = {}

    def __len__(self) -> int:
        return len(self._again) + sum(len(lane) for lane in self._lanes.values())

    def __contains__(self, waiter: Waiter) -> bool:
        return waiter in self._again or waiter in self._lanes.get(waiter.lane, ())

    def __iter__(self) -> Iterator[Waiter]:
        """In the order of service. To be read before anything changes."""
        yield from self._again
        turns = [iter(lane) for lane in self._lanes.values()]
        while turns:
            left = []
            for turn in turns:
                waiter = next(turn, None)
                if waiter is not None:
                    yield waiter
                    left.append(turn)
            turns = left

    def add(self, waiter: Waiter, *, again: bool = False) -> None:
        if again:
            self._again[waiter] = None
        else:
            self._lanes.setdefault(waiter.lane, {})[waiter] = None

    def remove(self, waiter: Waiter) -> None:
        """It left, or was sent away. Its lane keeps its turn."""
        self._again.pop(waiter, None)
        lane = self._lanes.get(waiter.lane)
        if lane is not None:
            lane.pop(waiter, None)
            if not lane:
                del self._lanes[waiter.lane]

    def served(self, waiter: Waiter) -> None:
        """It has a permit; the next turn of its lane comes after those of all others."""
        again = waiter in self._again
        self.remove(waiter)
        if not again and waiter.lane in self._lanes:
            self._lanes[waiter.lane] = self._lanes.pop(waiter.lane)

    def weight_before(self, lane: Hashable) -> int:
        """What a newcomer of this lane would wait for."""
        turns = len(self._lanes.get(lane, ()))
        before = sum(waiter.weight for waiter in self._again)
        for one in self._lanes.values():
            for number, waiter in enumerate(one):
                if number > turns:
                    break
                before += waiter.weight
        return before


class LimiterBusy(ThrottledError):
    """No permit soon: the task waits in the queue instead of holding a processor. Burns no attempt."""

    def __init__(self, limiter: str, retry_after: float) -> None:
        self.limiter = limiter
        super().__init__(
            f"the limiter {limiter!r} has no permit for this task within the next {retry_after:.1f} s",
            retry_after=retry_after,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """Times of this process's monotonic clock (the event loop's may be rounded to milliseconds)."""

    asked_at: float
    received_at: float
    ready_at: float
    stale_at: float
    rate: float | None
    burst: int | None

    async def ready(self) -> None:
        """Returns at its moment or after, never before, however coarse the timers are."""
        while True:
            left = self.ready_at - monotonic()
            if left <= 0:
                return
            await asyncio.sleep(left)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outlook:
    """The last answer that had too few: when the next permit comes, and how fast they follow."""

    next_at: float
    rate: float | None
    believed_until: float


class Permits:
    """``take(weights, ahead_seconds)`` asks the store. Belongs to one event loop."""

    def __init__(self, key: str, take: Take, *, hold_seconds: float) -> None:
        self._key = key
        self._take = take
        self._hold_seconds = hold_seconds
        self._waiting = WaitingLine()
        self._asking: asyncio.Task[None] | None = None
        self._outlook: _Outlook | None = None
        # By lane: until when its tasks that were sent away have been given times to come back.
        self._promised: dict[Hashable, float] = {}
        self._round_trip_seconds = 0.0
        self._questions_in_vain = 0

    @property
    def idle(self) -> bool:
        return not self._waiting and max(self._promised.values(), default=0.0) < monotonic()

    def forget(self) -> None:
        """What was heard from the database so far is out of date."""
        self._outlook = None

    async def next(self, weight: int, *, again: bool, lane: Hashable = None) -> Permit:
        """A permit, to be used from its ``ready_at`` on. ``again``: for somebody whose permit became void."""
        loop = asyncio.get_running_loop()
        self._refuse_at_once(weight, lane, monotonic())
        waiter = Waiter(weight, lane, loop.create_future())
        self._waiting.add(waiter, again=again)
        if self._asking is None or self._asking.done():
            # A context of its own: the loop serves everybody, not the handler that happened to come first.
            self._asking = loop.create_task(
                self._serve_all(), name=f"limiter {self._key}", context=contextvars.Context()
            )
        try:
            permit: Permit = await waiter.permit
            return permit
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                if not self._waiting:
                    self._stop_asking()

    def _stop_asking(self) -> None:
        """Nobody waits any more. Whoever comes next starts the loop anew, even while this one is ending."""
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.cancel()

    def sent_away(self, delay_seconds: float, weight: int, rate: float | None, lane: Hashable) -> LimiterBusy:
        """For somebody who need not wait here at all: the key is closed for longer than that."""
        return self._busy(delay_seconds + self._hold_seconds / 2, weight, rate, lane, monotonic())

    def _refuse_at_once(self, weight: int, lane: Hashable, now: float) -> None:
        """While the last answer is believed, whoever would wait too long need not ask again."""
        outlook = self._outlook
        if outlook is None or now > outlook.believed_until:
            return
        delay = outlook.next_at - now + _seconds(self._waiting.weight_before(lane), outlook.rate)
        if delay > self._hold_seconds:
            raise self._busy(delay, weight, outlook.rate, lane, now)

    async def _serve_all(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while self._waiting:
            try:
                wait = await self.run_once()
                pause = _FIRST_PAUSE_SECONDS
            except DATABASE_FAULTS:
                # No database, no permits: whoever has no time left is interrupted by its own deadline.
                wait, pause = pause, min(pause * 2, _LONGEST_PAUSE_SECONDS)
            except Exception as error:
                self._fail_all(error)
                return
            if wait > 0:
                await asyncio.sleep(wait)

    async def run_once(self) -> float:
        """Ask once for those in front, give out what came, send away who would wait too long. Returns how
        many seconds to let pass before asking again."""
        bunch = list(islice(self._waiting, BUNCH))
        ahead = self._ahead_seconds()
        asked_at = monotonic()
        grant = await self._take([waiter.weight for waiter in bunch], ahead)
        received_at = monotonic()
        self._round_trip_seconds += 0.2 * (received_at - asked_at - self._round_trip_seconds)
        self._questions_in_vain = 0 if grant.granted else self._questions_in_vain + 1
        for waiter, delay in zip(bunch, grant.delays_seconds, strict=False):
            # From the receipt: the database said it earlier, so this is never too soon.
            permit = Permit(
                asked_at=asked_at,
                received_at=received_at,
                ready_at=received_at + delay,
                stale_at=asked_at + delay + _STALE_SECONDS,
                rate=grant.rate,
                burst=grant.burst,
            )
            self._end(waiter, permit)
        if grant.granted == len(bunch):
            self._outlook = None
            return 0.0
        return self._postpone(grant, ahead, received_at)

    def _ahead_seconds(self) -> float:
        usual = max(2 * self._round_trip_seconds, _SHORTEST_AHEAD_SECONDS)
        return min(usual * _THIRST_FACTOR ** min(self._questions_in_vain, 10), _LONGEST_AHEAD_SECONDS)

    def _postpone(self, grant: Grant, ahead: float, now: float) -> float:
        if grant.burst is not None:
            for waiter in [one for one in self._waiting if one.weight > grant.burst]:
                self._end(waiter, _too_heavy(self._key, waiter.weight, grant.burst))
        if grant.wait_seconds is None or not self._waiting:
            return 0.0
        self._outlook = _Outlook(
            next_at=now + grant.wait_seconds, rate=grant.rate, believed_until=now + _LOOK_AGAIN_SECONDS
        )
        delay = grant.wait_seconds
        for waiter in list(self._waiting):
            if delay > self._hold_seconds:
                self._end(waiter, self._busy(delay, waiter.weight, grant.rate, waiter.lane, now))
            else:
                delay += _seconds(waiter.weight, grant.rate)
        if not self._waiting:
            return 0.0
        first = next(iter(self._waiting)).weight
        reach = ahead + (min(_seconds(first, grant.rate), self._hold_seconds) if first > 1 else 0.0)
        return min(max(grant.wait_seconds - reach, 0.0), _LOOK_AGAIN_SECONDS)

    def _busy(self, delay: float, weight: int, rate: float | None, lane: Hashable, now: float) -> LimiterBusy:
        """Each one sent away gets a later time than the one of its lane before, or a thousand would come back at
        once; the more lanes share the key, the further apart. It returns a little before its turn, since it takes a
        moment to be claimed."""
        free_at = now + delay
        self._promised = {one: until for one, until in self._promised.items() if until > now or one == lane}
        slot = max(self._promised.get(lane, 0.0), free_at)
        if slot > free_at + _SPREAD_SECONDS:
            slot = free_at
        sharing = len(self._promised.keys() | {lane})
        self._promised[lane] = slot + _SPREAD_SHARE * sharing * _seconds(weight, rate)
        return LimiterBusy(self._key, slot - now - self._hold_seconds / 2)

    def _fail_all(self, error: Exception) -> None:
        for waiter in list(self._waiting):
            self._end(waiter, error)

    def _end(self, waiter: Waiter, with_what: Permit | Exception) -> None:
        """A waiter that has left meanwhile gets nothing; its permit is lost, which only costs time."""
        if waiter not in self._waiting:
            return
        if isinstance(with_what, Permit):
            self._waiting.served(waiter)
        else:
            self._waiting.remove(waiter)
        if waiter.permit.done():
            return
        if isinstance(with_what, Permit):
            waiter.permit.set_result(with_what)
        else:
            waiter.permit.set_exception(with_what)


def _seconds(weight: float, rate: float | None) -> float:
    return 0.0 if rate is None else weight / rate


def _too_heavy(key: str, weight: int, burst: int) -> PenstockError:
    return InvalidSetting(
        f"weight at limiter {key!r}",
        weight,
        f"its burst is {burst}, so that many permits never come together",
    )
