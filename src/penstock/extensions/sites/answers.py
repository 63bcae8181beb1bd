"""The table ``website_analysis.answers``. One function per query of ``sql/answers.sql``."""

from collections.abc import Mapping
from typing import Any

import orjson

from penstock.extensions.sites.findings import Answer
from penstock.storage.queries import load

_sql = load("answers", "penstock.extensions.sites")
Connection = Any
# Answers from the site's own text, which may be another one by now. It costs nothing to ask again.
_FROM_FACTS = "offline"


async def stored(connection: Connection, task_id: int, run: int) -> list[Answer]:
    return [_answer(row) for row in await connection.fetch(_sql.stored, task_id, run)]


async def of_task(connection: Connection, task_id: int) -> list[Answer]:
    """Those of the newest run that has any."""
    return [_answer(row) for row in await connection.fetch(_sql.of_task, task_id)]


async def store(connection: Connection, task_id: int, run: int, answer: Answer) -> None:
    """An answer that is there already stays; a problem makes room for a text."""
    said = {"text": _storable(answer.text), "problem": _storable(answer.problem)}
    await connection.execute(_sql.store, task_id, run, orjson.dumps(answer.as_json() | said).decode())


async def reuse(connection: Connection, task_id: int, run: int, versions: Mapping[str, str]) -> int:
    """Copy what the models said in earlier runs into this one, where their ``versions`` are still the same. Returns
    how many answers were there."""
    wanted = {name: version for name, version in versions.items() if name != _FROM_FACTS}
    said: str = await connection.execute(_sql.reuse, task_id, run, list(wanted), list(wanted.values()))
    return int(said.rpartition(" ")[2])


def _storable(text: str | None) -> str | None:
    """PostgreSQL keeps neither NUL nor half a character."""
    return None if text is None else text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _answer(row: Any) -> Answer:
    return Answer.from_json({**row, "evidence": orjson.loads(row["evidence"]), "details": orjson.loads(row["details"])})
