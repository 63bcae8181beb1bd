"""Numbered SQL migrations, applied once each, in order.

Safe under load: a short lock timeout keeps a migration from queueing behind a long transaction (and
everybody else behind it); it is tried again instead. Two migrations at the same time are serialised by
an advisory lock, so the second one finds nothing left to do. Each file runs in one transaction, so a
migration killed half-way leaves nothing. The lock ends with that transaction: behind a pooler, one of the
session would stay behind on a connection that belongs to nobody.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import asyncpg

from penstock.errors import DatabaseUnavailable, SchemaOutOfDate

_LOCK = 0x70656E73746F636B  # "penstock"
_BASE = """
create schema if not exists penstock;
create table if not exists penstock.migrations (
    version    integer primary key,
    name       text not null,
    applied_at timestamptz not null default now()
);
"""
_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_SCHEMA = re.compile(r"^create schema if not exists (\w+);", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    version: int
    name: str
    sql: str


def migrations() -> tuple[Migration, ...]:
    """All migrations of this package, oldest first."""
    found = []
    for entry in files("penstock.storage").joinpath("migrations").iterdir():
        if match := _FILE.fullmatch(entry.name):
            found.append(Migration(version=int(match[1]), name=match[2], sql=entry.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))


def newest() -> int:
    return migrations()[-1].version


def schemas() -> tuple[str, ...]:
    """Every schema that the migrations create. An application has one of its own: whoever removes Penstock from a
    database has to drop them all, or the next migration fails on the tables that are left."""
    return tuple(dict.fromkeys(_SCHEMA.findall(_BASE + "".join(migration.sql for migration in migrations()))))


async def applied(connection: Any) -> tuple[int, ...]:
    """Versions the database has, oldest first; empty where Penstock was never installed."""
    if await connection.fetchval("select to_regclass('penstock.migrations')") is None:
        return ()
    rows = await connection.fetch("select version from penstock.migrations order by version")
    return tuple(row["version"] for row in rows)


async def pending(connection: Any) -> tuple[Migration, ...]:
    have = set(await applied(connection))
    return tuple(migration for migration in migrations() if migration.version not in have)


async def check(connection: Any) -> None:
    """Raise unless the schema is at least as new as this package: old workers run on a newer schema."""
    have = await applied(connection)
    found = have[-1] if have else 0
    if found < newest():
        raise SchemaOutOfDate(found=found, needed=newest())


def as_sql() -> str:
    """All of it as one script, for people whose database is changed by somebody else."""
    parts = [_BASE]
    for migration in migrations():
        parts.append(
            f"-- {migration.version:04d} {migration.name}\nbegin;\n{migration.sql}\n"
            f"insert into penstock.migrations (version, name) values ({migration.version}, '{migration.name}');\n"
            "commit;\n"
        )
    return "\n".join(parts)


async def migrate(
    connection: Any,
    *,
    lock_timeout_seconds: float = 2.0,
    tries: int = 30,
    tell: Callable[[str], None] = lambda line: None,
) -> tuple[Migration, ...]:
    """Bring the schema up to date; returns what was applied."""
    async with connection.transaction():
        await _take_turn(connection)
        await connection.execute(_BASE)
    done = []
    for migration in await pending(connection):
        tell(f"applying {migration.version:04d} {migration.name}")
        if await _apply(connection, migration, lock_timeout_seconds, tries, tell):
            done.append(migration)
    return tuple(done)


async def _take_turn(connection: Any) -> None:
    """Waits for other migrations, until the end of the transaction."""
    await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)


async def _apply(
    connection: Any,
    migration: Migration,
    lock_timeout_seconds: float,
    tries: int,
    tell: Callable[[str], None],
) -> bool:
    """False where another migration was quicker."""
    for attempt in range(1, tries + 1):
        try:
            async with connection.transaction():
                await _take_turn(connection)
                if migration.version in await applied(connection):
                    return False
                await connection.execute(
                    "select set_config('lock_timeout', $1, true)", f"{int(lock_timeout_seconds * 1000)}ms"
                )
                await connection.execute(migration.sql)
                await connection.execute(
                    "insert into penstock.migrations (version, name) values ($1, $2)", migration.version, migration.name
                )
            return True
        except asyncpg.LockNotAvailableError:
            tell(f"a table is busy; trying again ({attempt} of {tries})")
            await asyncio.sleep(min(0.2 * attempt, 2.0))
    raise DatabaseUnavailable(
        what=f"migration {migration.version:04d} got no lock in {tries} tries",
        next_step="`penstock doctor` names the transaction in the way; end it and run `penstock migrate` again.",
    )
