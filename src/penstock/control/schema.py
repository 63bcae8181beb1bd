"""The database that a program works on, the given one or the embedded server for as long as it is needed, and its
schema."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from penstock import embedded
from penstock.config import Settings, setting_fields
from penstock.errors import DatabaseError
from penstock.extension import Extension
from penstock.storage import database, migrate
from penstock.storage.dialer import require_writes

_PASSWORD_OF_USER = re.compile(r"^(\w+://[^:/?#@]*):.*@", re.DOTALL)
_PASSWORD_PARAMETER = re.compile(r"([?&](?:password|sslpassword)=)[^&]*", re.IGNORECASE)
# A migration may build an index on a large table, or wait for another migration.
_MIGRATION_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """``server`` is there only when the database is the embedded one."""

    url: str
    server: embedded.EmbeddedServer | None

    @property
    def shown(self) -> str:
        if self.server is not None:
            return f"embedded PostgreSQL in {self.server.home}"
        return without_password(self.url)

    def keep_running(self) -> None:
        """Called in a thread while the database does not answer: the embedded server is ours to start again."""
        if self.server is not None:
            with suppress(DatabaseError):
                self.server.ensure_running()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """By the extensions of an application, for those who must not import it."""

    migrations: tuple[migrate.Migration, ...]
    settings: tuple[str, ...]

    @classmethod
    def of(cls, extensions: Collection[Extension]) -> "Brought":
        kinds = [kind for one in extensions if (kind := one.find(one.settings)) is not None]
        return cls(migrations=migrate.migrations_of(extensions), settings=tuple(setting_fields(kinds)))

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Brought":
        made = tuple(migrate.Migration(**one) for one in told["migrations"])
        return cls(migrations=made, settings=tuple(told["settings"]))


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Place]:
    """The embedded server is started if nobody runs it, and stopped at the end if nobody else uses it."""
    if settings.url is not None:
        yield Place(url=settings.url, server=None)
        return
    starting = asyncio.create_task(asyncio.to_thread(embedded.acquire, settings.home))
    try:
        server = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # A thread cannot be interrupted: wait until it has the server, then give it back.
        (await starting).release()
        raise
    try:
        yield Place(url=server.url, server=server)
    finally:
        await asyncio.to_thread(server.release)


@asynccontextmanager
async def connection(settings: Settings, place: Place) -> AsyncIterator[Any]:
    """For migrations: unlike a session's, it asks nothing of the schema."""
    patient = settings.model_copy(update={"command_timeout_seconds": _MIGRATION_TIMEOUT_SECONDS})
    opened_now = await database.connect(patient, place.url, purpose="migrate")
    try:
        with database.translated(place.url):
            yield opened_now
    finally:
        opened_now.terminate()


async def prepare(
    settings: Settings,
    place: Place,
    further: Sequence[migrate.Migration],
    *,
    may_migrate: bool,
    tell: Callable[[str], None],
) -> None:
    """The schema as this version needs it, and the application with its ``further`` migrations. The embedded server is
    ours, so it is migrated without asking."""
    async with connection(settings, place) as open_connection:
        if may_migrate or place.server is not None:
            await migrate.migrate(open_connection, further, tell=tell)
        await migrate.check(open_connection, further)
        await require_writes(open_connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """``version``: of Penstock itself, 0 where it is not installed. ``pending``: what ``needed`` and the extensions ask
    for. ``applied``: by this call."""

    version: int
    needed: int
    pending: tuple[str, ...]
    applied: tuple[str, ...] = ()


async def look(settings: Settings, extensions: Collection[Extension]) -> Schema:
    """Without a change."""
    async with opened(settings) as place, connection(settings, place) as link:
        return await _look(link, migrate.migrations_of(extensions))


async def upgrade(settings: Settings, extensions: Collection[Extension], tell: Callable[[str], None]) -> Schema:
    """Apply what is pending."""
    further = migrate.migrations_of(extensions)
    async with opened(settings) as place, connection(settings, place) as link:
        applied = await migrate.migrate(link, further, tell=tell)
        return replace(await _look(link, further), applied=tuple(one.label for one in applied))


async def _look(link: Any, further: Sequence[migrate.Migration]) -> Schema:
    pending = await migrate.pending(link, further)
    return Schema(
        version=max(await migrate.applied(link), default=0),
        needed=migrate.newest(),
        pending=tuple(one.label for one in pending),
    )


def script(extensions: Collection[Extension]) -> str:
    """All of it as SQL, for people whose database is changed by somebody else."""
    return migrate.as_sql(migrate.migrations_of(extensions))


def without_password(url: str) -> str:
    """The URL for people's eyes: passwords are replaced wherever a PostgreSQL URL can hold one.

    Rather too much than too little: a password with signs that should have been encoded is masked as well.
    """
    hidden = _PASSWORD_OF_USER.sub(r"\1:***@", url)
    return _PASSWORD_PARAMETER.sub(r"\1***", hidden)
