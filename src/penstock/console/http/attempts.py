"""How often somebody may try to log in, per address or per name, in this process."""

import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_MOST_KEYS = 10_000


class Attempts:
    """At most ``most`` in any ``seconds``. A refused one does not count, so a wait that was told is enough."""

    def __init__(self, *, most: int = 10, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_seconds(self, address: str | None) -> float:
        """0: go on, and it is counted. Else how long to wait."""
        now = self._clock()
        key = _network(address)
        times = self._times.setdefault(key, deque())
        self._times.move_to_end(key)
        while times and times[0] <= now - self._seconds:
            times.popleft()
        if len(times) >= self._most:
            return times[0] + self._seconds - now
        times.append(now)
        if len(self._times) > _MOST_KEYS:
            self._times.popitem(last=False)
        return 0.0

    def give_back(self, address: str | None) -> None:
        """It was no guess: whoever got in has not used up an attempt."""
        if times := self._times.get(_network(address)):
            times.pop()


def _network(address: str | None) -> str:
    """One person has a whole /64 of IPv6 addresses."""
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return address or ""
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
