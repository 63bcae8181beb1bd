"""Who acts, and what they may: the words that the audit log, the command line and the service share."""

import getpass
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from penstock.storage.audit import Entry


class Role(StrEnum):
    """What a user may do. Each role holds what the one before it may."""

    viewer = "viewer"
    operator = "operator"
    admin = "admin"

    @property
    def rank(self) -> int:
        return list(Role).index(self)


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
