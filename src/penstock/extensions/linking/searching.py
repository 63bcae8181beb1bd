"""``linking.search``: one name in one language, for all records of a run that have it."""

from dataclasses import replace
from typing import Any

from penstock import Context, Skip
from penstock.errors import PermanentError
from penstock.extensions.linking import cache, fetching, projects, records
from penstock.extensions.linking.cache import Answer, Course, Question
from penstock.extensions.linking.project import Project
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.shared import RecordLinking
from penstock.extensions.linking.sources.source import SourceMisconfigured
from penstock.extensions.linking.stages import reason_if_last

GONE = "the project is gone, was cancelled, or is in a later run"
NOTHING_FOUND = "the source knows nothing of that name"


async def search(linking: RecordLinking, ctx: Context, project_id: int, run: int, question: Question) -> Any:
    project = await linking.lately.read(project_id, run)
    if project is None:
        return Skip(GONE)
    try:
        course = await _ask(linking, ctx, project, question)
    except Exception as error:
        if (reason := reason_if_last(ctx, error)) is not None:
            async with linking.app.connection() as connection, connection.transaction():
                await _fail(connection, project_id, run, question, reason)
            async with linking.app.connection() as connection:
                await projects.end_run(connection, project_id, run)
        raise
    new = await _write(linking, ctx, project, question, course)
    if new is None:
        return None
    if not course.answer.ids:
        # The search may have been the last thing that the run waited for.
        async with linking.app.connection() as connection:
            await projects.end_run(connection, project_id, run)
    elif not new:
        # Candidates that were there before, or that somebody else fetches: they may have come by now.
        async with linking.app.connection() as connection, connection.transaction():
            group = {"language": course.language, "query": question.query}
            ready = await records.ready_by_group(connection, project_id, run, **group)
            await fetching.hand_over(linking, connection, ready)
    await linking.batching.hint(project.source)
    return None


async def _ask(linking: RecordLinking, ctx: Context, project: Project, question: Question) -> Course:
    """In its own language, then in those of the project, until one answers. Cached answers cost no request."""
    options = linking.options_of(project)
    days = linking.app.settings.of(LinkingSettings).cache_days
    source = await linking.sources.prepare(project.source)
    course = Course(question.language, Answer(ids=()))
    for one in dict.fromkeys((question.language, *options.languages)):
        async with linking.app.connection() as connection:
            asked = replace(question, language=one)
            answer = await cache.answer(connection, project.source, asked, days=days, candidates=options.candidates)
        if answer is None:
            limiter = ctx.limiter(source.key)
            try:
                found = await source.search(
                    question.query, one, types=question.types, limit=options.candidates, limiter=limiter
                )
            except PermanentError as error:
                # A language that only the record names may be none that the source knows; the project's are left.
                if one in options.languages or isinstance(error, SourceMisconfigured):
                    raise
                continue
            scores = {entity.id: entity.given_score for entity in found.entities if entity.given_score is not None}
            answer = course.asked[one] = Answer(ids=found.ids, scores=scores)
            course.entities |= {entity.id: entity for entity in found.entities}
        course.language, course.answer = one, answer
        if answer.ids:
            break
    return course


async def _write(
    linking: RecordLinking, ctx: Context, project: Project, question: Question, course: Course
) -> int | None:
    """The answer and where the records stand, with the end of the task; None: nothing was written. Otherwise how many
    entities nobody had asked for."""
    options = linking.options_of(project)
    async with ctx.transaction() as transaction:
        connection = transaction.connection
        new = await cache.answered(
            connection,
            project,
            question,
            course,
            candidates=options.candidates,
            days=linking.app.settings.of(LinkingSettings).cache_days,
            languages=sorted({question.language, *options.languages}),
        )
        if new is None:
            transaction.result = Skip(GONE)
            return None
        if course.entities:
            await cache.keep(connection, project.source, course.entities)
        if not course.answer.ids:
            await records.end_group(
                connection,
                project.id,
                project.run,
                language=course.language,
                query=question.query,
                now=RecordState.MATCHING,
                state=RecordState.NO_CANDIDATE,
                reason=NOTHING_FOUND,
            )
        return new


async def _fail(connection: Any, project_id: int, run: int, question: Question, reason: str) -> None:
    if await projects.hold(connection, project_id, run) is not None:
        await records.end_group(
            connection,
            project_id,
            run,
            language=question.language,
            query=question.query,
            now=RecordState.QUEUED,
            state=RecordState.ERROR,
            reason=reason,
        )
