"""Stores what a fetch brought, also where one entity of it cannot be stored; and divides fetches that died.

An entity that breaks its fetch must neither take the others along nor be asked for again and again.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import asyncpg

from penstock.apps.record_linking import cache, projects, records
from penstock.apps.record_linking.entity import Entity
from penstock.engine.payload import clean_text

if TYPE_CHECKING:
    from penstock.apps.record_linking.shared import RecordLinking

# What the server, its driver or the encoder say about data. A database that is away says something else.
UNSTORABLE = (asyncpg.DataError, asyncpg.ProgramLimitExceededError, TypeError, ValueError)
_REASON_CHARACTERS = 500


async def keep_each(
    linking: "RecordLinking", source: str, found: Mapping[str, Entity | None], *, languages: Sequence[str]
) -> int:
    """One at a time; records that wait for one that cannot be stored are told. Returns how many those were."""
    lost = 0
    for id, entity in found.items():
        async with linking.app.connection() as connection:
            try:
                await cache.keep(connection, source, {id: entity}, languages=languages)
            except UNSTORABLE as error:
                lost += 1
                reason = clean_text(f"What {source} says about {id} cannot be stored: {error}", _REASON_CHARACTERS)
                await _give_up(connection, source, id, reason)
    return lost


async def divide_dead(linking: "RecordLinking", source: str, project_id: int, run: int) -> int:
    """Fetches that died without having told their records why: by a fault nobody foresaw, or because their worker
    crashed each time. Halves of them are tried again, in the end each entity alone. Returns how many died."""
    async with linking.app.connection() as connection:
        if not await cache.dead(connection, source):
            return 0
        async with connection.transaction():
            await cache.one_maker(connection, source)
            project = await projects.hold(connection, project_id, run)
            # Looked at again, now that nobody else divides them.
            dead = {} if project is None else await cache.dead(connection, source)
            for task_id, ids in dead.items():
                if len(ids) == 1:
                    reason = f"{ids[0]} could not be fetched; `penstock tasks show {task_id}` says why"
                    await _give_up(connection, source, ids[0], reason)
                    continue
                assert project is not None
                enqueueable = linking.fetch.options(job=project.job_id, owner=project.owner)
                for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
                    task = await enqueueable.enqueue_on(connection, source=source, ids=half)
                    await cache.pass_on(connection, source, half, old=task_id, new=task.id)
            return len(dead)


async def _give_up(connection: Any, source: str, id: str, reason: str) -> None:
    async with connection.transaction():
        await records.fail_by_entities(connection, source, [id], reason)
        await cache.give_up(connection, source, [id])
