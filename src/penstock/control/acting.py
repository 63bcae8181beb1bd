"""Who acts, and what they may: the words that the audit log, the command line and the service share."""

import getpass
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from penstock.core.app import App
from penstock.events import Event
from penstock.storage import audit
from penstock.storage.audit import Entry


class Role(StrEnum):
    """What a user may do. Each role holds what the one before it may."""

    viewer = "viewer"
    operator = "operator"
    admin = "admin"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Somebody who does something, and from where. Names that no user can have stand for others (``cli:ann``)."""

    actor: str
    ip: str | None = None
    request_id: str | None = None

    @classmethod
    def command_line(cls) -> "By":
        """The operating system's user: whoever may use the database needs no account of ours."""
        try:
            return cls(actor=f"cli:{getpass.getuser()}")
        except (KeyError, OSError):
            return cls(actor="cli:")

    def entry(
        self, action: str, *, kind: str | None = None, object: object = None, owner: str | None = None, **details: Any
    ) -> Entry:
        """What the audit log keeps about an act of theirs."""
        return Entry(
            actor=self.actor,
            action=action,
            ip=self.ip,
            kind=kind,
            object=None if object is None else str(object),
            owner=owner,
            request_id=self.request_id,
            details=details,
        )


async def note_events(app: App, by: By, events: Sequence[Event]) -> None:
    """Decisions that were told as events, into the audit log."""
    async with app.connection() as connection:
        for event in events:
            await audit.append(connection, _entry_of(by, event))


def _entry_of(by: By, event: Event) -> Entry:
    """``jobs.steered`` with ``job`` and ``move`` is the act ``job.pause`` on that job."""
    details = {name: _plain(value) for name, value in event.data.items() if name != "by"}
    kinds, _, told = event.name.partition(".")
    kind = kinds.removesuffix("s")
    named = next((details[name] for name in ("slug", kind, "key", "lane") if details.get(name) is not None), None)
    return Entry(
        actor=by.actor,
        action=f"{kind}.{details.pop('move', told)}",
        kind=kind,
        object=None if named is None else str(named),
        details=details,
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | list | None) else str(value)
