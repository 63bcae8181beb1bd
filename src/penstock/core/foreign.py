"""Enqueue inside a transaction that the caller opened with another library.

The statement is the same everywhere: the SQL function. Only the way to bind its parameters differs.
"""

import re
from typing import Any

from penstock.errors import UsageError
from penstock.storage.queries import load
from penstock.storage.tasks import NewTask

_NAMED = load("tasks").enqueue_named
_PARAMETER = re.compile(r":(\w+)\b")
_PYFORMAT = _PARAMETER.sub(r"%(\1)s", _NAMED)


def _values(task: NewTask) -> dict[str, Any]:
    return {name: getattr(task, name) for name in NewTask.__dataclass_fields__}


def _library(connection: Any) -> str:
    return type(connection).__module__.split(".")[0]


def _unknown(connection: Any) -> UsageError:
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    return UsageError(
        f"Cannot enqueue on a {kind}. Pass a connection of asyncpg, psycopg, SQLAlchemy or Django, "
        "or call the SQL function penstock.enqueue yourself."
    )


async def enqueue_on(connection: Any, task: NewTask) -> tuple[int, bool]:
    """asyncpg connections, psycopg's AsyncConnection, SQLAlchemy's AsyncSession and AsyncConnection."""
    match _library(connection):
        case "psycopg":
            cursor = await connection.execute(_PYFORMAT, _values(task))
            return _row(await cursor.fetchone())
        case "sqlalchemy":
            from sqlalchemy import text

            return _row((await connection.execute(text(_NAMED), _values(task))).one())
        case _:
            raise _unknown(connection)


def enqueue_on_sync(connection: Any, task: NewTask) -> tuple[int, bool]:
    """psycopg's Connection, SQLAlchemy's Session and Connection, Django's connection wrapper."""
    match _library(connection):
        case "psycopg":
            return _row(connection.execute(_PYFORMAT, _values(task)).fetchone())
        case "sqlalchemy":
            from sqlalchemy import text

            return _row(connection.execute(text(_NAMED), _values(task)).one())
        case "django":
            with connection.cursor() as cursor:
                cursor.execute(_PYFORMAT, _values(task))
                return _row(cursor.fetchone())
        case _:
            raise _unknown(connection)


def _row(row: Any) -> tuple[int, bool]:
    values = tuple(row.values()) if isinstance(row, dict) else tuple(row)
    return int(values[0]), bool(values[1])
