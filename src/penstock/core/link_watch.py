"""Tells that a connection was lost each time a try fails, and once that it is back."""

from penstock.events import Events


class LinkWatch:
    """One per link and the loop that owns it. ``works`` may be called after every answer: it costs one look."""

    __slots__ = ("_events", "_link", "_lost")

    def __init__(self, events: Events, link: str) -> None:
        self._events = events
        self._link = link
        self._lost = False

    def lost(self, error: BaseException) -> None:
        self._lost = True
        self._events.emit("database.lost", link=self._link, error=str(error) or type(error).__name__)

    def works(self) -> None:
        """The server answered over this link."""
        if self._lost:
            self._lost = False
            self._events.emit("database.back", link=self._link)
