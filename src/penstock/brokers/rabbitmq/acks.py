"""Which deliveries of a channel are done, so that one acknowledgement stands for many. Pure."""

from collections.abc import Iterable


class Front:
    """Delivery tags count up from 1 on a channel. All up to the front are done; some above it may be as well."""

    __slots__ = ("_above", "_front")

    def __init__(self) -> None:
        self._front = 0
        self._above: set[int] = set()

    def reaches(self, tag: int) -> bool:
        """Whether everything up to this one is done."""
        return self._front >= tag

    def done(self, tags: Iterable[int]) -> tuple[int, list[int], set[int]]:
        """What to tell the broker: acknowledge everything up to the first number (0: nothing), and the others singly.
        Last come those that were not done before.

        The first number is always one of ``tags``: the broker does not take one that it was told before.
        """
        above, front = self._above, self._front
        fresh = {tag for tag in tags if tag > front and tag not in above}
        above |= fresh
        while front + 1 in above:
            front += 1
            above.discard(front)
        self._front = front
        through = max((tag for tag in fresh if tag <= front), default=0)
        return through, sorted(tag for tag in fresh if tag > front), fresh


class Confirms:
    """The other direction: what the broker has confirmed of a batch that was published. Tags count up from 1 on a
    channel, and a batch has the channel to itself."""

    __slots__ = ("_above", "_front", "_last", "refused")

    def __init__(self) -> None:
        self._front = self._last = 0
        self._above: set[int] = set()
        self.refused = 0

    def expect(self, count: int) -> None:
        self._last += count
        self.refused = 0

    def take(self, tag: int, *, multiple: bool, taken: bool) -> None:
        if not taken:
            self.refused += 1
        if multiple:
            self._front = max(self._front, tag or self._last)
        else:
            self._above.add(tag)
        if self._above:
            self._above = {one for one in self._above if one > self._front} if multiple else self._above
            while self._front + 1 in self._above:
                self._front += 1
                self._above.discard(self._front)

    @property
    def complete(self) -> bool:
        return self._front >= self._last
