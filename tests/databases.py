"""Databases that the tests of one process use one after another.

Copying a migrated template costs PostgreSQL 60 to 400 ms of CPU; truncating the tables that a test filled costs 15.
A database that comes back is therefore emptied, and renamed for the next test, so that nothing the last test left
running can reach it. A database whose schema a test changed is dropped instead.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import psycopg
from psycopg import sql

from penstock.extension import discovered
from penstock.storage.migrate import migrate, migrations_of

_Connection = psycopg.Connection[Any]
# Of the extensions that ship with Penstock.
BUNDLED = migrations_of(discovered())

# Everything of a schema but the rows. Truncating changes only columns of pg_class that are not in here.
_FINGERPRINT = """
with rows as (
    select xmin from pg_attribute union all select xmin from pg_constraint union all select xmin from pg_trigger
    union all select xmin from pg_proc union all select xmin from pg_index union all select xmin from pg_namespace
)
select concat_ws(' ',
    (select md5(string_agg(concat_ws(',', oid, relname, relkind, reloptions, relacl, relowner), ';' order by oid))
       from pg_class),
    (select count(*) from rows),
    (select sum(xmin::text::bigint) from rows),
    (select datconnlimit from pg_database where datname = current_database()),
    (select count(*) from pg_db_role_setting join pg_database on pg_database.oid = setdatabase
      where datname = current_database()))
"""

# One truncate of every table that was written to; those that migrations filled get their rows back afterwards.
_EMPTY = """
do $$
declare
    filled text := (select string_agg(oid::regclass::text, ', ') from pg_class
                     where relkind = 'r' and pg_relation_size(oid) > 0
                       and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace));
begin
    if filled is not null then execute 'truncate ' || filled || ' cascade'; end if;
    perform setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
       from pg_sequences where last_value is not null;
    if (select rolsuper from pg_roles where rolname = current_user) then
        perform pg_stat_reset();
        delete from pg_statistic;
    end if;
end $$
"""
_TABLES = "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema')"

_NUMBERS = """
select format('%I.%I', schemaname, sequencename), last_value from pg_sequences where last_value is not null
"""


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def name_in(url: str) -> str:
    return urlsplit(url).path[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fresh:
    """What a database holds that was just copied."""

    fingerprint: str
    rows: dict[tuple[str, str], bytes]
    numbers: dict[str, int]

    @classmethod
    def of(cls, inside: _Connection) -> "_Fresh":
        rows = {}
        for schema, table in inside.execute(_TABLES).fetchall():
            with inside.cursor().copy(sql.SQL("copy {} to stdout").format(sql.Identifier(schema, table))) as out:
                rows[schema, table] = b"".join(bytes(part) for part in out)
        return cls(
            fingerprint=_fingerprint(inside),
            rows={table: text for table, text in rows.items() if text},
            numbers=dict(inside.execute(_NUMBERS).fetchall()),
        )

    def restored(self, inside: _Connection) -> bool:
        """False, and nothing is done, where the schema is another one."""
        if _fingerprint(inside) != self.fingerprint:
            return False
        inside.execute(_EMPTY)
        for (schema, table), rows in self.rows.items():
            with inside.cursor().copy(sql.SQL("copy {} from stdin").format(sql.Identifier(schema, table))) as into:
                into.write(rows)
        for sequence, number in self.numbers.items():
            inside.execute("select setval(%s::regclass, %s)", (sequence, number))
        return True


class Databases:
    """Copies of a migrated template, and among them those that no test uses at the moment.

    Without a ``template`` it makes one of its own, and nobody ever connects to it: it could not be copied then."""

    def __init__(self, server_url: str, template: str | None = None) -> None:
        self.server_url = server_url
        self._template = template
        self._owns_template = template is None
        self._free: list[str] = []
        self._fresh: _Fresh | None = None
        self._admin: _Connection | None = None

    def make_template(self) -> str:
        """Its name."""
        self._template = f"penstock_template_{uuid4().hex[:12]}"
        self._administer("create database {}", self._template)
        # In a thread: the caller may stand inside an event loop.
        with ThreadPoolExecutor(1) as threads:
            threads.submit(asyncio.run, _migrated(with_database(self.server_url, self._template))).result()
        return self._template

    def close(self) -> None:
        owned = [self._template] if self._owns_template and self._template else []
        for name in (*self._free, *owned):
            self.drop(with_database(self.server_url, name))
        if self._admin is not None:
            self._admin.close()

    def take(self) -> str:
        """The URL of a database that is migrated and empty, and that nobody has seen under this name."""
        name = _new_name()
        if self._free:
            self._administer("alter database {} rename to {}", self._free.pop(), name)
        else:
            self._administer("create database {} template {}", name, self._template or self.make_template())
        if self._fresh is None:
            with self._inside(name) as inside:
                self._fresh = _Fresh.of(inside)
        return with_database(self.server_url, name)

    def bare(self) -> str:
        """The URL of a database without Penstock in it. Drop it afterwards."""
        name = _new_name()
        self._administer("create database {}", name)
        return with_database(self.server_url, name)

    def give_back(self, url: str) -> None:
        """Whoever is still connected is thrown out."""
        name = name_in(url)
        try:
            self._administrator().execute(
                "select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = %s", (name,)
            )
            with self._inside(name) as inside:
                untouched = self._fresh is not None and self._fresh.restored(inside)
        except psycopg.Error:
            # Dropped, renamed or barred by the test.
            untouched = False
        if untouched:
            self._free.append(name)
        else:
            self.drop(url)

    def drop(self, url: str) -> None:
        self._administer("drop database if exists {} with (force)", name_in(url))

    def _administer(self, statement: str, *names: str) -> None:
        self._administrator().execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _administrator(self) -> _Connection:
        if self._admin is None or self._admin.closed:
            self._admin = _connect(self.server_url)
        return self._admin

    def _inside(self, name: str) -> _Connection:
        return _connect(with_database(self.server_url, name))


def _new_name() -> str:
    return f"penstock_test_{uuid4().hex[:12]}"


async def _migrated(url: str) -> None:
    inside = await asyncpg.connect(url)
    try:
        await migrate(inside, BUNDLED)
    finally:
        await inside.close()


def _fingerprint(inside: _Connection) -> str:
    row = inside.execute(_FINGERPRINT).fetchone()
    assert row is not None
    return str(row[0])


def _connect(url: str) -> _Connection:
    return psycopg.connect(url, autocommit=True)
