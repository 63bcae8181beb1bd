"""The progress line: moves on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Callable
from typing import TextIO

_PLAIN_LINE_EVERY_SECONDS = 10.0
_MOVING_LINE_EVERY_SECONDS = 0.1
# The rate is the one of about the last so many seconds, so that an ETA follows what happens now.
_RATE_SECONDS = 10.0


def duration(seconds: float | None) -> str:
    """2m48s, 3h05m, 12d04h; under ten seconds with one decimal."""
    if seconds is None:
        return "–"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if not minutes:
        return f"{rest}s"
    if not hours:
        return f"{minutes}m{rest:02}s"
    if hours < 48:
        return f"{hours}h{minutes_left:02}m"
    return f"{hours // 24}d{hours % 24:02}h"


class Progress:
    """``update`` as often as you like; it draws ten times a second on a terminal, every 10 s elsewhere."""

    def __init__(
        self,
        stream: TextIO,
        total: int | None,
        *,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self.total = total
        self._quiet = quiet
        self._clock = clock
        self._moving = stream.isatty()
        self._points: list[tuple[float, int]] = []
        self._drawn_at: float | None = None
        self._on_screen = False

    def update(self, done: int, *, failed: int = 0, total: int | None = None, force: bool = False) -> None:
        now = self._clock()
        self.total = self.total if total is None else total
        self._points.append((now, done))
        while len(self._points) > 2 and now - self._points[1][0] >= _RATE_SECONDS:
            self._points.pop(0)
        every = _MOVING_LINE_EVERY_SECONDS if self._moving else _PLAIN_LINE_EVERY_SECONDS
        if self._drawn_at is None and not force:
            self._drawn_at = now if not self._moving else now - every
        if not self._quiet and (force or self._drawn_at is None or now - self._drawn_at >= every):
            self._drawn_at = now
            self._draw(self.line(done, failed))

    def end(self, done: int, *, failed: int = 0) -> None:
        """The last state, and the cursor on a fresh line."""
        self.update(done, failed=failed, force=True)
        self.detach()

    def detach(self) -> None:
        """Leave the line as it is: the wait ends, the work goes on."""
        if self._on_screen:
            self._stream.write("\n")
            self._stream.flush()
            self._on_screen = False

    def line(self, done: int, failed: int = 0) -> str:
        """``12,481/48,213 26 % 212/s ETA 2m48s · 3 failed``"""
        rate = self._rate()
        parts = [f"{done:,}"]
        if self.total is not None:
            share = 100 if not self.total else int(100 * done / self.total)
            parts = [f"{done:,}/{self.total:,} {share} %"]
        if rate is not None:
            parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        if self.total is not None and rate and done < self.total:
            parts.append(f"ETA {duration((self.total - done) / rate)}")
        return " ".join(parts) + (f" · {failed:,} failed" if failed else "")

    def _rate(self) -> float | None:
        (first_at, first), (last_at, last) = self._points[0], self._points[-1]
        return (last - first) / (last_at - first_at) if last_at - first_at >= 0.2 else None

    def _draw(self, line: str) -> None:
        if self._moving:
            self._stream.write(f"\r\x1b[2K{line}")
            self._on_screen = True
        else:
            self._stream.write(line + "\n")
        self._stream.flush()
