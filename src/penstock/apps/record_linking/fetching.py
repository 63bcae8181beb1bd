"""``linking.fetch``: one batch of entities, for whatever records of any project wait for them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock import Context, Skip
from penstock.apps.record_linking import batching, cache, keeping, projects, records
from penstock.apps.record_linking.failing import reason_if_last

if TYPE_CHECKING:
    from penstock.apps.record_linking.project import Project
    from penstock.apps.record_linking.shared import RecordLinking


async def fetch(linking: "RecordLinking", ctx: Context, source_name: str, ids: list[str]) -> Any:
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
            ids,
            languages=languages,
            properties=_properties(running),
            limiter=ctx.limiter(source.key),
        )
    except Exception as error:
        if (reason := reason_if_last(ctx, error)) is not None:
            async with linking.app.connection() as connection, connection.transaction():
                await records.fail_by_entities(connection, source_name, ids, reason)
                await cache.give_up(connection, source_name, ids)
        raise
    told = {one: found.get(one) for one in ids}
    result: dict[str, int] | None = None
    try:
        async with ctx.transaction() as transaction:
            await cache.keep(transaction.connection, source_name, told, languages=languages)
            transaction.result = {"entities": len(ids)}
    except keeping.UNSTORABLE:
        result = {
            "entities": len(ids),
            "lost": await keeping.keep_each(linking, source_name, told, languages=languages),
        }
    # After the commit: of two that bring a record its last candidates, the later one sees all of them.
    async with linking.app.connection() as connection, connection.transaction():
        await batching.hand_over(linking, connection, await records.ready_by_entities(connection, source_name, ids))
    await linking.batching.ask(source_name)
    return result


def _languages(linking: "RecordLinking", running: "Sequence[Project]", asked: Sequence[str]) -> tuple[str, ...]:
    """Those of the projects first; then those of single records, and of earlier projects, which would lose them."""
    chosen = (one for project in running for one in linking.options_of(project).languages)
    return tuple(dict.fromkeys((*chosen, *asked)))


def _properties(running: "Sequence[Project]") -> tuple[str, ...]:
    named = (role.property for project in running for role in project.roles.values())
    return tuple(dict.fromkeys(one for one in named if one))
