"""What an extension is: one frozen object that names everything it brings to an application.

An application has what it was given with ``app.install(extension)``. Where no application is named, Penstock runs what
is installed on the machine: the objects behind the entry point group ``penstock.extensions``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any

from penstock import extras
from penstock.errors import InvalidExtension, MissingExtra, UsageError
from penstock.version import VERSION

GROUP = "penstock.extensions"
LEVELS = ("debug", "info", "warning", "error")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """All but the name is optional. What needs imports is given as ``"module:name"`` and imported when it is needed:
    every command reads the extensions, and few use them."""

    name: str
    # Called with the application: declares tasks, pipelines and schedules, upkeep and retention among them.
    install: Callable[..., Any] | str | None = None
    # Whose its stages are in the database. Applications that install the same extension share them.
    owner: str = ""
    # The package whose folder `migrations` holds NNNN_name.sql; the first creates its schema.
    migrations: str | None = None
    # Of its migrations, those that were once in Penstock's own sequence: number → number there.
    formerly: Mapping[int, int] = field(default_factory=dict)
    # A class of settings: see `penstock.config.ExtensionSettings`.
    settings: type[Any] | str | None = None
    # name → (level, what it says)
    events: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Event, or first word of an action in the audit log → type of what changed, for pages that look at it.
    touches: Mapping[str, str] = field(default_factory=dict)
    # An APIRouter of FastAPI, served beside the console's routes, to whoever is logged in or has a token.
    router: Any = None
    # The same, served to everybody.
    public_router: Any = None
    # name → (help, module with `register(app)`)
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Entries in the menu of the web pages: address → name.
    screens: Mapping[str, str] = field(default_factory=dict)
    # Of `penstock doctor`: see `penstock.observe.finding.Check`.
    checks: Sequence[Any] | str = ()
    # The extra of Penstock that brings what it imports.
    extra: str | None = None
    # The oldest Penstock that it works with.
    requires: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name == "penstock":
            raise self.refused("its name must be 1 to 40 lower case letters, digits or _, starting with a letter")
        if self.extra is not None and self.extra not in extras.MODULES:
            raise self.refused(f"Penstock has no extra {self.extra!r}; it has {', '.join(sorted(extras.MODULES))}")
        for event, (level, _) in self.events.items():
            if level not in LEVELS:
                raise self.refused(f"its event {event!r} has the level {level!r}; use one of {', '.join(LEVELS)}")
        # A source tree that was never installed does not know its version.
        if self.requires is not None and "+source" not in VERSION and _numbers(VERSION) < _numbers(self.requires):
            raise self.refused(f"it needs Penstock {self.requires} or newer, and this is {VERSION}; upgrade Penstock")

    def refused(self, problem: str) -> InvalidExtension:
        return InvalidExtension(name=self.name, problem=problem)

    def find(self, brought: Any) -> Any:
        """The object itself, also where it was given by name."""
        if not isinstance(brought, str):
            return brought
        try:
            return resolve_name(brought)
        except UsageError:
            raise
        except Exception as error:
            raise _not_imported(self.name, self.extra, brought, error) from error

    def settings_found(self) -> list[type[Any]]:
        """Its class of settings, if it has one."""
        return [] if self.settings is None else [self.find(self.settings)]

    def fits(self, application: str, others: Iterable["Extension"], events: Collection[str]) -> None:
        """Raises where it cannot stand beside these; ``events``: those of the engine."""
        if self.extra is not None and not extras.installed(self.extra):
            raise MissingExtra(extra=self.extra, what=f"The extension {self.name!r}")
        for name in sorted(self.events.keys() & set(events)):
            raise self.refused(f"its event {name!r} belongs to Penstock itself")
        for other in others:
            if other.name == self.name:
                raise self.refused(f"the application {application!r} already has an extension of that name")
            for kind in ("events", "commands", "screens"):
                for name in sorted(getattr(self, kind).keys() & getattr(other, kind).keys()):
                    raise self.refused(f"its {kind[:-1]} {name!r} belongs to the extension {other.name!r}")


def discovered() -> tuple[Extension, ...]:
    """All that can run on this machine, by name. One whose extra is missing is left out."""
    return tuple(one for one in declared() if one.extra is None or extras.installed(one.extra))


def declared() -> tuple[Extension, ...]:
    """All that is installed on this machine, by name. Raises :class:`InvalidExtension`."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        if (other := found.get(entry.name)) is not None and other.value != entry.value:
            both = " and ".join(sorted(_origin(one) for one in (entry, other)))
            raise InvalidExtension(
                name=entry.name, problem=f"{both} provide an extension of this name; uninstall one of them"
            )
        found[entry.name] = entry
    return tuple(_loaded(entry) for _, entry in sorted(found.items()))


def declared_settings() -> list[type[Any]]:
    """Of all that is installed on this machine and can be imported: to know the names of their variables."""
    kinds = []
    for entry in entry_points(group=GROUP):
        with suppress(UsageError):
            extension = _loaded(entry)
            kinds += extension.settings_found()
    return kinds


def _loaded(entry: EntryPoint) -> Extension:
    try:
        extension = entry.load()
    except UsageError:
        raise
    except Exception as error:
        raise _not_imported(entry.name, None, f"{entry.value} of {_origin(entry)}", error) from error
    if not isinstance(extension, Extension) or extension.name != entry.name:
        problem = f"{entry.value} of {_origin(entry)} is not a penstock.Extension of that name"
        raise InvalidExtension(name=entry.name, problem=problem)
    return extension


def _not_imported(name: str, extra: str | None, what: str, error: Exception) -> UsageError:
    if isinstance(error, ModuleNotFoundError) and extra is not None and not extras.installed(extra):
        return MissingExtra(extra=extra, what=f"The extension {name!r}")
    return InvalidExtension(name=name, problem=f"importing {what} failed: {type(error).__name__}: {error}")


def _origin(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
