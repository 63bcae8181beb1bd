"""``linking.score``: ranks the candidates of records from the cache and decides what follows. Asks no source."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock import Context, Skip
from penstock.extensions.linking import cache, candidates, projects, records
from penstock.extensions.linking.cache import Answer
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.project import Options, Project, asked_types, types_key, wanted_of
from penstock.extensions.linking.record import Record
from penstock.extensions.linking.scoring.score import Scored, Verdict, rank, verdict
from penstock.extensions.linking.scoring.weights import Weights
from penstock.extensions.linking.searching import GONE
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.stages import reason_if_last

Ranking = tuple[Verdict, Sequence[Scored]]


class _Overtaken(Exception):
    """Weights or thresholds changed between reading and writing: ranked by the old ones, it is worth nothing."""


async def score(linking: RecordLinking, ctx: Context, project_id: int, run: int | None, ids: list[int]) -> Any:
    """``run`` None: again, because weights changed; what people decided stays."""
    try:
        while True:
            try:
                return await _score(linking, ctx, project_id, run, ids)
            except _Overtaken:
                continue
    except Exception as error:
        if run is not None and (reason := reason_if_last(ctx, error)) is not None:
            async with linking.app.connection() as connection, connection.transaction():
                if await projects.hold(connection, project_id, run) is not None:
                    await records.fail(connection, ids, run, reason)
        raise


async def _score(linking: RecordLinking, ctx: Context, project_id: int, run: int | None, ids: list[int]) -> Any:
    async with linking.app.connection() as connection:
        project = await projects.get(connection, project_id)
        if project is None or run not in (None, project.run):
            return Skip(GONE)
        found = await records.of_ids(connection, ids)
        options = linking.options_of(project)
        names = list({(one.language, one.query) for one in found if one.language and one.query})
        # What a run asked is under its own types, also where they were changed since it began.
        types = types_key(asked_types(project, options)) if run is None else project.types_key
        answers = await cache.answers(connection, source=project.source, types=types, names=names)
        wanted = {id for answer in answers.values() for id in answer.ids}
        entities = await cache.entities(connection, project.source, list(wanted))
    # In a thread: heartbeats and requests go on meanwhile.
    rankings = await asyncio.to_thread(rank_all, project, options, found, answers, entities)
    async with ctx.transaction() as transaction:
        held = await projects.hold(transaction.connection, project_id, run)
        if held is None:
            transaction.result = Skip(GONE)
            return None
        if (held.options, held.roles) != (project.options, project.roles):
            raise _Overtaken
        given = {id: decided for id, (decided, _) in rankings.items()}
        written = await records.scored(transaction.connection, project_id, run, given)
        await candidates.replace(transaction.connection, {id: rankings[id][1] for id in written})
        transaction.result = {"records": len(rankings)}
    if run is not None:
        async with linking.app.connection() as connection:
            await projects.end_run(connection, project_id, run)
    return None


def rank_all(
    project: Project,
    options: Options,
    found: Sequence[Record],
    answers: Mapping[tuple[str, str], Answer],
    entities: Mapping[str, Entity],
) -> dict[int, Ranking]:
    """By record. Those whose answer is not cached any more are left as they are."""
    weights = Weights.from_options(options.weights)
    rankings: dict[int, Ranking] = {}
    for record in found:
        answer = answers.get((record.language or "", record.query or ""))
        if answer is not None:
            wanted = wanted_of(project, options, record.cells)
            known = _known(answer, entities)[: options.candidates]
            ranked = rank(wanted, known, weights)
            rankings[record.id] = verdict(ranked, options.accept_score, options.accept_gap), ranked
    return rankings


def _known(answer: Answer, entities: Mapping[str, Entity]) -> list[Entity]:
    """Deleted ones are dropped, moved ones counted once; what the source gave for this very name goes along."""
    known: dict[str, Entity] = {}
    for asked in answer.ids:
        if (entity := entities.get(asked)) is not None and entity.id not in known:
            known[entity.id] = replace(entity, given_score=answer.scores.get(asked))
    return list(known.values())
