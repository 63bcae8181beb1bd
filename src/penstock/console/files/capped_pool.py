"""Capped children that are kept between requests: starting one takes longer than most files take to read."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from penstock.console.files.capped import CappedChild, Caps

# A fresh child now and then: what a parser leaks does not add up.
_REQUESTS_PER_CHILD = 500


class CappedPool:
    """For several threads. ``closed`` from the first call of ``end`` on: children that are lent out are killed."""

    def __init__(self, parser: str, caps: Caps, *, subject: str) -> None:
        self._parser = parser
        self._caps = caps
        self._subject = subject
        self._lock = Lock()
        self._idle: list[CappedChild] = []
        self._busy: set[CappedChild] = set()
        self.closed = False

    @contextmanager
    def lent(self) -> Iterator[CappedChild]:
        child = self._take()
        try:
            yield child
        finally:
            self._give_back(child)

    def end(self) -> None:
        """Whoever waits for a child sees it die; call ``close`` when nobody does any more."""
        with self._lock:
            self.closed = True
            for child in self._busy:
                child.kill()

    def close(self) -> None:
        for child in self._idle:
            child.close()
        self._idle.clear()

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the children that wait for work."""
        with self._lock:
            return tuple(child.pid for child in self._idle)

    def _take(self) -> CappedChild:
        with self._lock:
            child = self._idle.pop() if self._idle else None
        if child is not None and not child.alive:
            child.close()
            child = None
        if child is None:
            child = CappedChild(self._parser, self._caps, subject=self._subject)
        with self._lock:
            self._busy.add(child)
            if self.closed:
                child.kill()
        return child

    def _give_back(self, child: CappedChild) -> None:
        with self._lock:
            self._busy.discard(child)
            keep = child.usable and child.requests < _REQUESTS_PER_CHILD and not self.closed
            if keep:
                self._idle.append(child)
        if not keep:
            child.close()
