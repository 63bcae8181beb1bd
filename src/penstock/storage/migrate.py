"""Numbered SQL migrations, applied once each, in order: those of Penstock, then those of each extension, which have a
sequence of their own.

Safe under load: a short lock timeout keeps a migration from queueing behind a long transaction (and
everybody else behind it); it is tried again instead. Two migrations at the same time are serialised by
an advisory lock, so the second one finds nothing left to do. Each file runs in one transaction, so a
migration killed half-way leaves nothing. The lock ends with that transaction: behind a pooler, one of the
session would stay behind on a connection that belongs to nobody.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import asyncpg

from penstock.errors import DatabaseUnavailable, InvalidExtension, SchemaOutOfDate
from penstock.extension import Extension

_LOCK = 0x70656E73746F636B  # "penstock"
_LOCK_TIMEOUT, _TRIES = "2000ms", 30
_BASE = """
create schema if not exists penstock;
create table if not exists penstock.migrations (
    version    integer primary key,
    name       text not null,
    applied_at timestamptz not null default now()
);
create table if not exists penstock.extension_migrations (
    extension  text not null,
    version    integer not null,
    name       text not null,
    applied_at timestamptz not null default now(),
    primary key (extension, version)
);
"""
_TABLES = "select to_regclass('penstock.migrations'), to_regclass('penstock.extension_migrations')"
_APPLIED = "select '' as extension, version from penstock.migrations"
_APPLIED_OF_EXTENSIONS = "select extension, version from penstock.extension_migrations"
# What a statement is to blame for, and no state of the server.
_MISTAKES = ("0A", "22", "23", "2B", "3F", "42")
_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_SCHEMA = re.compile(r"^create schema if not exists (\w+);", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """``formerly``: its number in Penstock's own sequence, which held those of the first extensions once."""

    version: int
    name: str
    sql: str
    extension: str = ""
    formerly: int | None = None

    @property
    def label(self) -> str:
        return f"{self.extension} {self.version:04d} {self.name}".lstrip()

    def is_in(self, database: "Applied") -> bool:
        return (self.extension, self.version) in database or ("", self.formerly) in database


# (extension, version); no extension: Penstock itself
Applied = set[tuple[str, int | None]]


@cache
def migrations() -> tuple[Migration, ...]:
    """All of Penstock itself, oldest first. Numbers that are missing went to extensions."""
    return tuple(_read(files("penstock.storage").joinpath("migrations")))


def migrations_of(extensions: Iterable[Extension]) -> tuple[Migration, ...]:
    """Raises :class:`InvalidExtension` for a folder that holds none, or two of one number, or two extensions that make
    one schema."""
    found: list[Migration] = []
    owners: dict[str, Extension | None] = dict.fromkeys(schemas())
    for extension in extensions:
        mine = _migrations_of(extension)
        for schema in _SCHEMA.findall("".join(one.sql for one in mine)):
            if (owner := owners.setdefault(schema, extension)) is not extension:
                whose = "Penstock itself" if owner is None else f"the extension {owner.name!r}"
                raise extension.refused(f"its schema {schema!r} belongs to {whose}")
        found += mine
    return tuple(found)


def _migrations_of(extension: Extension) -> list[Migration]:
    if extension.migrations is None:
        return []
    try:
        read = _read(files(extension.migrations).joinpath("migrations"))
    except (ImportError, OSError, TypeError) as error:
        raise extension.refused(f"its migrations folder cannot be read: {error}") from error
    numbers = [one.version for one in read]
    if numbers != list(range(1, len(read) + 1)) or not read:
        shown = ", ".join(f"{number:04d}" for number in numbers) or "none"
        raise extension.refused(f"its migrations must be numbered from 0001 without gaps; found: {shown}")
    return [replace(one, extension=extension.name, formerly=extension.formerly.get(one.version)) for one in read]


def _read(folder: Traversable) -> list[Migration]:
    found = []
    for entry in folder.iterdir():
        if match := _FILE.fullmatch(entry.name):
            found.append(Migration(version=int(match[1]), name=match[2], sql=entry.read_text("utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def newest() -> int:
    return migrations()[-1].version


def schemas(further: Iterable[Migration] = ()) -> tuple[str, ...]:
    """Every schema that the migrations create. An extension has one of its own: whoever removes Penstock from a
    database has to drop them all, or the next migration fails on the tables that are left."""
    sql = "".join(migration.sql for migration in (*migrations(), *further))
    return tuple(dict.fromkeys(_SCHEMA.findall(_BASE + sql)))


async def applied(connection: Any) -> tuple[int, ...]:
    """Versions of Penstock itself that the database has, oldest first; empty where it was never installed."""
    return _own_versions(await _applied(connection))


def _own_versions(have: Applied) -> tuple[int, ...]:
    known = {migration.version for migration in migrations()}
    there = sorted(version for extension, version in have if not extension and version is not None)
    return tuple(version for version in there if version in known or version > newest())


async def _applied(connection: Any) -> Applied:
    """A database that an earlier release migrated has only the first of the two tables."""
    own, further = await connection.fetchrow(_TABLES)
    if own is None:
        return set()
    rows = await connection.fetch(_APPLIED if further is None else f"{_APPLIED} union all {_APPLIED_OF_EXTENSIONS}")
    return {(row["extension"], row["version"]) for row in rows}


async def pending(connection: Any, further: Iterable[Migration] = ()) -> tuple[Migration, ...]:
    """``further``: of the extensions that an application has."""
    have = await _applied(connection)
    return tuple(migration for migration in (*migrations(), *further) if not migration.is_in(have))


async def present(connection: Any, extensions: Iterable[Extension]) -> tuple[Extension, ...]:
    """Those that have no tables, and those of whose migrations the database has any, or whose folder cannot be read."""
    have = await _applied(connection)

    def is_used(extension: Extension) -> bool:
        try:
            steps = _migrations_of(extension)
        except InvalidExtension:
            return True
        return not steps or any(step.is_in(have) for step in steps)

    return tuple(filter(is_used, extensions))


async def check(connection: Any, further: Sequence[Migration] = ()) -> None:
    """Raise unless the schema is at least as new as this package: old workers run on a newer schema."""
    have = await _applied(connection)
    found = max(_own_versions(have), default=0)
    if found < newest():
        raise SchemaOutOfDate(found=found, needed=newest())
    for migration in further:
        if not migration.is_in(have):
            raise SchemaOutOfDate(found=migration.version - 1, needed=migration.version, extension=migration.extension)


def as_sql(further: Iterable[Migration] = ()) -> str:
    """All of it as one script, for people whose database is changed by somebody else."""
    parts = [_BASE]
    for migration in (*migrations(), *further):
        parts.append(f"-- {migration.label}\nbegin;\n{migration.sql}\n{_record(migration)}commit;\n")
    return "\n".join(parts)


def _record(migration: Migration) -> str:
    """That it was applied. Older releases look for those of extensions in Penstock's own sequence."""
    lines = []
    number = migration.formerly if migration.extension else migration.version
    if number is not None:
        lines.append(f"insert into penstock.migrations (version, name) values ({number}, '{migration.name}')")
    if migration.extension:
        values = f"('{migration.extension}', {migration.version}, '{migration.name}')"
        lines.append(f"insert into penstock.extension_migrations (extension, version, name) values {values}")
    return "".join(f"{line} on conflict do nothing;\n" for line in lines)


async def migrate(
    connection: Any,
    further: Sequence[Migration] = (),
    *,
    tell: Callable[[str], None] = lambda line: None,
) -> tuple[Migration, ...]:
    """Bring the schema up to date; returns what was applied. What an earlier release applied for an extension is
    taken over as it is."""
    async with connection.transaction():
        await _take_turn(connection)
        await connection.execute(_BASE)
        have = await _applied(connection)
        for migration in further:
            if migration.is_in(have):
                await connection.execute(_record(migration))
    done = []
    for migration in await pending(connection, further):
        tell(f"applying {migration.label}")
        if await _apply(connection, migration, tell):
            done.append(migration)
    return tuple(done)


async def _take_turn(connection: Any) -> None:
    """Waits for other migrations, until the end of the transaction."""
    await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)


async def _apply(connection: Any, migration: Migration, tell: Callable[[str], None]) -> bool:
    """False where another migration was quicker."""
    for attempt in range(1, _TRIES + 1):
        try:
            async with connection.transaction():
                await _take_turn(connection)
                if migration.is_in(await _applied(connection)):
                    return False
                await connection.execute("select set_config('lock_timeout', $1, true)", _LOCK_TIMEOUT)
                await connection.execute(migration.sql)
                await connection.execute(_record(migration))
            return True
        except asyncpg.LockNotAvailableError:
            tell(f"a table is locked; retrying (attempt {attempt} of {_TRIES})")
            await asyncio.sleep(min(0.2 * attempt, 2.0))
        except asyncpg.PostgresError as error:
            if not migration.extension or not str(error.sqlstate).startswith(_MISTAKES):
                raise
            problem = f"its migration {migration.version:04d} {migration.name} failed: {error}"
            raise InvalidExtension(name=migration.extension, problem=problem) from error
    raise DatabaseUnavailable(
        what=f"migration {migration.label.rpartition(' ')[0]} got no lock in {_TRIES} tries",
        next_step="`penstock doctor` shows the blocking transaction; end it and run `penstock migrate` again.",
    )
