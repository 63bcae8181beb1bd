"""Records of the index as the wire has them."""

from collections.abc import Sequence
from dataclasses import asdict

from penstock.apps.article_search import alerts, coverage, generations, reindexing
from penstock.apps.article_search.alerts import Alert
from penstock.apps.article_search.comparing import Comparison, QueryComparison
from penstock.apps.article_search.embedders.registry import EmbedderView
from penstock.apps.article_search.embedding_tasks import EmbeddingTask
from penstock.apps.article_search.generation import Generation
from penstock.apps.article_search.reindexing import SCOPES, Unfinished
from penstock.apps.article_search.saved_queries import SavedQuery
from penstock.apps.article_search.shapes import coverage_body
from penstock.apps.article_search.shared import ArticleSearch
from penstock.apps.article_search.statistics import statistics
from penstock.apps.article_search.wire_index import (
    AlertBody,
    BreakdownBody,
    ComparisonBody,
    EmbedderBody,
    FillingBody,
    FreshnessBody,
    GenerationBody,
    GenerationDetail,
    IndexBody,
    MovedBody,
    QueryBody,
    QueryComparisonBody,
    QueueBody,
    TaskBody,
    TotalsBody,
    WorkerBody,
)


async def index_body(search: ArticleSearch) -> IndexBody:
    found = await statistics(search.app)
    async with search.app.connection() as connection:
        every = await generations.listing(connection)
        active = await generations.active(connection)
        covered = await coverage.coverage(search, connection, active)
        apart = await coverage.breakdown(connection, active)
        troubles = await alerts.opened(connection)
        jobs = await reindexing.unfinished(connection)
    return IndexBody(
        enabled=found.enabled,
        coverage=coverage_body(covered),
        breakdown=BreakdownBody(**asdict(apart)),
        queue=QueueBody(**asdict(found.queue), total=found.queue.total),
        worker=WorkerBody(**asdict(found.worker), processed=found.worker.processed),
        freshness=FreshnessBody(**asdict(found.freshness)),
        generations=[generation_body(one) for one in every],
        filling=[filling_body(one, every) for one in jobs],
        alerts=[alert_body(one) for one in troubles],
        embedders=[embedder_body(one) for one in search.embedders.listing()],
    )


def generation_body(generation: Generation) -> GenerationBody:
    return GenerationBody(**asdict(generation))


async def generation_detail(search: ArticleSearch, generation: Generation) -> GenerationDetail:
    async with search.app.connection() as connection:
        covered = await coverage.coverage(search, connection, generation)
        chunks = await coverage.chunks(connection, generation)
    return GenerationDetail(**asdict(generation), coverage=coverage_body(covered), chunks=chunks)


def filling_body(job: Unfinished, every: Sequence[Generation]) -> FillingBody:
    """A re-index of one's own making may say anything in its metadata, and is shown all the same."""
    wanted = job.wanted
    return FillingBody(
        job_id=job.job_id,
        scope=next((scope for scope in SCOPES if scope == wanted.get("scope")), None),
        generation=next((one.name for one in every if one.id == wanted.get("generation")), None),
        paused=job.paused,
        left=job.present,
    )


def alert_body(alert: Alert) -> AlertBody:
    return AlertBody(
        kind=alert.kind,
        sentence=alert.sentence,
        details=dict(alert.details),
        opened_at=alert.opened_at,
        told_at=alert.told_at,
    )


def embedder_body(view: EmbedderView) -> EmbedderBody:
    return EmbedderBody(
        name=view.name,
        kind=view.kind,
        model=view.model,
        dimensions=view.dimensions,
        host=view.host,
        ready=view.problem is None,
        problem=view.problem,
    )


def task_body(task: EmbeddingTask) -> TaskBody:
    shown = asdict(task)
    del shown["article_id"]
    return TaskBody(**shown)


def query_body(query: SavedQuery) -> QueryBody:
    return QueryBody(**asdict(query) | {"expected": list(query.expected)})


def comparison_body(found: Comparison) -> ComparisonBody:
    return ComparisonBody(
        a=generation_body(found.a),
        b=generation_body(found.b),
        limit=found.limit,
        queries=[_compared(one) for one in found.queries],
        totals=TotalsBody(**asdict(found.totals)),
    )


def _compared(query: QueryComparison) -> QueryComparisonBody:
    return QueryComparisonBody(**asdict(query) | {"moved": [MovedBody(**asdict(one)) for one in query.moved]})
