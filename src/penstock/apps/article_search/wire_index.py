"""The index on the wire: how much of it is there, its tasks, its generations, and the queries they are compared on."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field, StringConstraints

from penstock.apps.article_search.article import Operation
from penstock.apps.article_search.embedding_tasks import TaskStatus
from penstock.apps.article_search.generation import GenerationState
from penstock.apps.article_search.names import BUILTIN
from penstock.apps.article_search.reindexing import Scope
from penstock.apps.article_search.trouble import Category
from penstock.apps.article_search.wire import MOST_QUERY_CHARACTERS, CoverageBody
from penstock.service.parameters import COUNTED, LONGEST_NAME, STORABLE, Flag, Moment, Name, Number
from penstock.service.wire import MOST_ID, Wire

MOST_GENERATION = 2**31 - 1
_LONGEST_GENERATION = 100
_MOST_EXPECTED = 100
GenerationId = Annotated[
    int, Path(alias="generationId", ge=1, le=MOST_GENERATION, description="As the list of generations has it.")
]
QueryId = Annotated[int, Path(alias="queryId", ge=1, le=MOST_ID, description="As the list of queries has it.")]
GivenName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
SomeGeneration = Annotated[int, Field(ge=1, le=MOST_GENERATION), COUNTED]


class BreakdownBody(Wire):
    """What `pending` is made of: `waiting` for their task, `failed` in it, `missing` without one."""

    waiting: int
    failed: int
    missing: int


class QueueBody(Wire):
    """Embedding tasks by status, counted in one look at the table. What was not needed any more is completed, too."""

    pending: int
    processing: int
    completed: int
    failed: int
    cancelled: int
    total: int


class WorkerBody(Wire):
    """Of the last 24 hours. `running`: a live worker has this stage; `averageMs`: mean time of a run."""

    running: bool
    processed: int
    succeeded: int
    failed: int
    average_ms: float | None
    last_processed_at: datetime | None
    heartbeat_at: datetime | None


class FreshnessBody(Wire):
    """From a save until its text is found by meaning, over the `measured` articles of the last 24 hours."""

    p50_ms: float | None
    p95_ms: float | None
    measured: int


class GenerationBody(Wire):
    """`standby`: was active, is kept up to date, and can be switched back to. `note`: what it waits for, or why it
    cannot go on."""

    id: int
    name: str
    embedder: str
    model: str
    dimensions: int
    chunker: str
    state: GenerationState
    job_id: int | None
    note: str | None
    created_by: str
    created_at: datetime
    ready_at: datetime | None
    activated_at: datetime | None


class GenerationDetail(GenerationBody):
    """How much of the articles it stands for; `chunks`: its vectors. Counted when it is asked for."""

    coverage: CoverageBody
    chunks: int


class GenerationList(Wire):
    items: list[GenerationBody]


class AlertBody(Wire):
    """One that is open: `sentence` says what is wrong and what to do. `toldAt`: when the webhook, or without one the
    log, last took it."""

    kind: str
    sentence: str
    details: dict[str, Any]
    opened_at: datetime
    told_at: datetime | None


class EmbedderBody(Wire):
    """`ready` is false where it cannot be used, and `problem` says why, such as a missing key. A key is never shown."""

    name: str
    kind: str
    model: str
    dimensions: int
    host: str | None
    ready: bool
    problem: str | None


class FillingBody(Wire):
    """A job that still has articles to embed: a re-index with its `scope`, or an import without one. `left`: how many
    have not ended."""

    job_id: int
    scope: Scope | None
    generation: str | None
    paused: bool
    left: int


class IndexBody(Wire):
    """`filling`: jobs at work on it. `enabled` is false where articles are embedded in the request that saves them."""

    enabled: bool
    coverage: CoverageBody
    breakdown: BreakdownBody
    queue: QueueBody
    worker: WorkerBody
    freshness: FreshnessBody
    generations: list[GenerationBody]
    filling: list[FillingBody]
    alerts: list[AlertBody]
    embedders: list[EmbedderBody]


class TaskBody(Wire):
    """`slug` and `generation` are null once they are gone. `skipped`: completed without an embedding, such as one that
    a newer revision made needless. `nextRunAt`: of one that waits. `advice`: what a person can do about the error."""

    task_id: int
    slug: str | None
    revision: int | None
    operation: Operation
    generation: str | None
    owner: str | None
    priority: str
    status: TaskStatus
    skipped: bool
    attempts: int
    max_attempts: int
    created_at: datetime
    started_at: datetime | None
    next_run_at: datetime | None
    ended_at: datetime | None
    error: str | None
    category: Category | None
    advice: str | None
    result: dict[str, Any] | None


class TaskPage(Wire):
    items: list[TaskBody]
    next_cursor: str | None


class ReindexBody(Wire):
    """Which articles: `all`; those whose vectors are `missing`, `stale` or either (`outdated`); or those of them whose
    embedding `failed`."""

    scope: Scope
    generation: SomeGeneration | None = Field(None, description="Its id. Left out: the active one.")
    author: Name | None = None
    since: Moment | None = Field(None, description="Changed at this time or later.")
    until: Moment | None = Field(None, description="Changed before this time.")
    force: Flag = Field(False, description="Embed also what has not changed.")
    dry_run: Flag = Field(False, description="Only count.")


class ReindexAnswer(Wire):
    """`jobId` is null for a dry run, and where nothing has to be done."""

    job_id: int | None
    articles: int
    chunks_estimated: int
    seconds_estimated: float | None


class RetryBody(Wire):
    category: Category | None = Field(None, description="Only failures of this category.")


class Retried(Wire):
    retried: int


class ClearBody(Wire):
    older_than_days: Annotated[Number, Field(ge=0, le=36_500)]


class Cleared(Wire):
    cleared: int


class NewGenerationBody(Wire):
    """Built beside the active one; nothing changes for searches until it is switched to."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_GENERATION, pattern=STORABLE)]
    embedder: GivenName = BUILTIN
    chunk_characters: Annotated[int, Field(ge=100, le=20_000), COUNTED] = 700
    overlap: Annotated[int, Field(ge=0, le=10_000), COUNTED] = 100


class NewQueryBody(Wire):
    query: Annotated[str, StringConstraints(min_length=1, max_length=MOST_QUERY_CHARACTERS, pattern=STORABLE)]
    expected: Annotated[list[GivenName], Field(max_length=_MOST_EXPECTED)] = Field(
        default_factory=list, description="Slugs of articles that should be found."
    )


class QueryBody(Wire):
    id: int
    query: str
    expected: list[str]
    owner: str
    created_at: datetime


class QueryList(Wire):
    items: list[QueryBody]


class MovedBody(Wire):
    """Places from 1."""

    slug: str
    place_a: int
    place_b: int


class QueryComparisonBody(Wire):
    """`overlap`: share of the found articles that both found. `ndcgA`, `ndcgB`: how high the expected ones stand, 1 at
    best; null where none is expected. `notice`: why an answer is worth less."""

    query_id: int
    query: str
    overlap: float
    moved: list[MovedBody]
    only_in_a: list[str]
    only_in_b: list[str]
    expected: list[str]
    expected_found_a: int
    expected_found_b: int
    ndcg_a: float | None
    ndcg_b: float | None
    ms_a: float
    ms_b: float
    notice: str | None


class TotalsBody(Wire):
    """Means over the queries, and the median of the times; null where there is no query to tell from."""

    queries: int
    overlap: float | None
    expected: int
    expected_found_a: int
    expected_found_b: int
    ndcg_a: float | None
    ndcg_b: float | None
    ms_a: float | None
    ms_b: float | None


class ComparisonBody(Wire):
    a: GenerationBody
    b: GenerationBody
    limit: int
    queries: list[QueryComparisonBody]
    totals: TotalsBody
