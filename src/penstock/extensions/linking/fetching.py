"""``linking.fetch``: one batch of entities, for whatever records of any project wait for them.

An entity that breaks its fetch must neither take the others along nor be asked for again and again: what cannot be
stored is found one by one, and fetches that died are divided.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from penstock import Context, Skip
from penstock.core.payload import clean_text
from penstock.extensions.linking import batching, cache, projects, records
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.failing import reason_if_last
from penstock.extensions.linking.names import FETCH
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.shared import RecordLinking

# What the server, its driver or the encoder say about data. A database that is away says something else.
UNSTORABLE = (asyncpg.DataError, asyncpg.ProgramLimitExceededError, TypeError, ValueError)
_REASON_CHARACTERS = 500


async def fetch(linking: RecordLinking, ctx: Context, source_name: str, ids: list[str]) -> Any:
    async with linking.app.connection() as connection:
        running = await projects.running_of_source(connection, source_name)
        if not running:
            await cache.give_up(connection, source_name, ids)
            return Skip("no project waits for them any more")
        ids = await cache.given_to(connection, source_name, ids, ctx.task_id)
        if not ids:
            return Skip("others have fetched them meanwhile")
        languages = _languages(linking, running, await cache.languages_of(connection, source_name, ids))
    try:
        source = await linking.sources.prepare(source_name)
        found = await source.entities(
            ids, languages=languages, properties=_properties(running), limiter=ctx.limiter(source.key)
        )
    except Exception as error:
        if (reason := reason_if_last(ctx, error)) is not None:
            async with linking.app.connection() as connection:
                await _give_up(connection, source_name, ids, reason)
        raise
    told = {one: found.get(one) for one in ids}
    result: dict[str, int] | None = None
    try:
        async with ctx.transaction() as transaction:
            await cache.keep(transaction.connection, source_name, told, languages=languages)
            transaction.result = {"entities": len(ids)}
    except UNSTORABLE:
        result = {"entities": len(ids), "lost": await _keep_each(linking, source_name, told, languages)}
    # After the commit: of two that bring a record its last candidates, the later one sees all of them.
    async with linking.app.connection() as connection, connection.transaction():
        await batching.hand_over(linking, connection, await records.ready_by_entities(connection, source_name, ids))
    await linking.batching.ask(source_name)
    return result


async def divide_dead(linking: RecordLinking, source: str, project_id: int, run: int) -> None:
    """Fetches that died without having told their records why: by a fault nobody foresaw, or because their worker
    crashed each time. Halves of them are tried again, in the end each entity alone."""
    async with linking.app.connection() as connection:
        if not await cache.dead(connection, source):
            return
        async with connection.transaction():
            await cache.one_maker(connection, source)
            project = await projects.hold(connection, project_id, run)
            if project is None:
                return
            # Looked at again, now that nobody else divides them.
            for task_id, ids in (await cache.dead(connection, source)).items():
                if len(ids) == 1:
                    reason = f"{ids[0]} could not be fetched; `penstock tasks show {task_id}` says why"
                    await _give_up(connection, source, ids, reason)
                    continue
                enqueueable = linking.task(FETCH, job=project.job_id, owner=project.owner)
                for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
                    task = await enqueueable.enqueue_on(connection, source=source, ids=half)
                    await cache.pass_on(connection, source, half, old=task_id, new=task.id)


async def _keep_each(
    linking: RecordLinking, source: str, found: Mapping[str, Entity | None], languages: Sequence[str]
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
                await _give_up(connection, source, [id], reason)
    return lost


async def _give_up(connection: Any, source: str, ids: Sequence[str], reason: str) -> None:
    async with connection.transaction():
        await records.fail_by_entities(connection, source, ids, reason)
        await cache.give_up(connection, source, ids)


def _languages(linking: RecordLinking, running: Sequence[Project], asked: Sequence[str]) -> tuple[str, ...]:
    """Those of the projects first; then those of single records, and of earlier projects, which would lose them."""
    chosen = (one for project in running for one in linking.options_of(project).languages)
    return tuple(dict.fromkeys((*chosen, *asked)))


def _properties(running: Sequence[Project]) -> tuple[str, ...]:
    named = (role.property for project in running for role in project.roles.values())
    return tuple(dict.fromkeys(one for one in named if one))
