"""`/api/article-index`: how much is indexed, its tasks, its generations, and the queries they are compared on."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field, StringConstraints

from penstock.console.http.actor import Admin, Operator, Viewer
from penstock.console.http.ground import Here
from penstock.console.http.ownership import whose
from penstock.console.http.parameters import (
    COUNTED,
    LONGEST_NAME,
    STORABLE,
    After,
    Flag,
    Moment,
    Name,
    Number,
    PageSize,
    UserId,
)
from penstock.console.http.problems import documented, not_found
from penstock.console.http.wire import MOST_ID, Wire
from penstock.extensions.articles import (
    alerts,
    building,
    comparing,
    embedding_tasks,
    generations,
    reindexing,
    upkeep,
)
from penstock.extensions.articles.api_access import Parts
from penstock.extensions.articles.comparing import Comparison, SavedQuery
from penstock.extensions.articles.embedding_tasks import EmbeddingTask, TaskStatus
from penstock.extensions.articles.errors import Category
from penstock.extensions.articles.generations import Generation
from penstock.extensions.articles.names import BUILTIN
from penstock.extensions.articles.reindexing import SCOPES, Plan, Scope
from penstock.extensions.articles.searching import MOST_CHARACTERS
from penstock.extensions.articles.statistics import (
    Breakdown,
    Coverage,
    Freshness,
    QueueCounts,
    WorkerStatistics,
    breakdown,
    chunks,
    statistics,
)

router = APIRouter(prefix="/api/article-index", tags=["article index"], responses=documented(409))
queries = APIRouter(prefix="/api/article-index/queries", tags=["article index"], responses=documented())
_MOST_GENERATION = 2**31 - 1
_GenerationId = Annotated[
    int, Path(alias="generationId", ge=1, le=_MOST_GENERATION, description="As the list of generations has it.")
]
_QueryId = Annotated[int, Path(alias="queryId", ge=1, le=MOST_ID, description="As the list of queries has it.")]
_GivenName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationDetail(Generation):
    """How much of the articles it stands for; `chunks`: its vectors. Counted when it is asked for."""

    coverage: Coverage
    chunks: int


class GenerationList(Wire):
    items: list[Generation]


class NewGenerationBody(Wire):
    """Built beside the active one; nothing changes for searches until it is switched to."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=building.LONGEST_NAME, pattern=STORABLE)]
    embedder: _GivenName = BUILTIN
    chunk_characters: Annotated[int, Field(ge=100, le=20_000), COUNTED] = 700
    overlap: Annotated[int, Field(ge=0, le=10_000), COUNTED] = 100


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
    coverage: Coverage
    breakdown: Breakdown
    queue: QueueCounts
    worker: WorkerStatistics
    freshness: Freshness
    generations: list[Generation]
    filling: list[FillingBody]
    alerts: list[AlertBody]
    embedders: list[EmbedderBody]


class TaskPage(Wire):
    items: list[EmbeddingTask]
    next_cursor: str | None


class ReindexBody(Wire):
    """Which articles: `all`; those whose vectors are `missing`, `stale` or either (`outdated`); or those of them whose
    embedding `failed`."""

    scope: Scope
    generation: Annotated[int, Field(ge=1, le=_MOST_GENERATION), COUNTED] | None = Field(
        None, description="Its id. Left out: the active one."
    )
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


class NewQueryBody(Wire):
    query: Annotated[str, StringConstraints(min_length=1, max_length=MOST_CHARACTERS, pattern=STORABLE)]
    expected: Annotated[list[_GivenName], Field(max_length=comparing.MOST_EXPECTED)] = Field(
        default_factory=list, description="Slugs of articles that should be found."
    )


class QueryList(Wire):
    items: list[SavedQuery]


@router.get("", operation_id="getArticleIndex")
async def get_index(search: Parts, actor: Viewer) -> IndexBody:
    """All of it on one screen: coverage, tasks, worker, freshness, generations, open alerts, embedders."""
    found = await statistics(search.app)
    async with search.app.connection() as connection:
        every = await generations.listing(connection)
        active = await generations.active(connection)
        covered = await search.counted.coverage(connection, active)
        parted = await breakdown(connection, active)
        opened = await alerts.opened(connection)
        jobs = await reindexing.unfinished(connection)
    return IndexBody.from_record(
        found,
        coverage=covered,
        breakdown=parted,
        generations=every,
        filling=[_filling(one, every) for one in jobs],
        alerts=opened,
        embedders=search.embedders.listing(),
    )


def _filling(job: reindexing.Unfinished, every: list[Generation]) -> FillingBody:
    """A re-index of one's own making may say anything in its metadata, and is shown all the same."""
    scope = next((scope for scope in SCOPES if scope == job.wanted.get("scope")), None)
    generation = next((one.name for one in every if one.id == job.wanted.get("generation")), None)
    return FillingBody.from_record(job, scope=scope, generation=generation, left=job.present)


@router.get("/tasks", operation_id="listEmbeddingTasks")
async def list_tasks(
    ground: Here,
    actor: Viewer,
    status: Annotated[TaskStatus | None, Query(description="Only tasks that stand so.")] = None,
    page_size: PageSize = 50,
    after: After = None,
    user_id: UserId = "me",
) -> TaskPage:
    """Embedding tasks of one's articles, newest first."""
    owner = whose(actor, user_id)
    listed = ground.listing(actor.name, "embedding-tasks", user_id, status)
    place = listed.behind(after)
    async with ground.app.connection() as connection:
        found = await embedding_tasks.page(connection, owner=owner, status=status, after=place, limit=page_size + 1)
    if owner is None:
        await ground.note_look(actor.entry("articles.look_at_tasks", kind="article"))
    page, following = listed.page(found, page_size, lambda one: one.task_id)
    return TaskPage(items=list(page), next_cursor=following)


@router.post(
    "/reindex",
    operation_id="reindexArticles",
    status_code=202,
    responses={200: {"model": ReindexAnswer, "description": "A dry run: what it would be."}},
)
async def reindex(ground: Here, search: Parts, response: Response, actor: Admin, body: ReindexBody) -> ReindexAnswer:
    """A job of one task per article, with low priority; pause, resume and cancel it like any job."""
    wish = Plan(**body.model_dump(exclude={"dry_run"}))
    async with ground.app.connection() as connection:
        planned = await reindexing.plan(connection, wish)
    job_id = None
    if body.dry_run:
        response.status_code = 200
    else:
        job_id = await reindexing.start(search, wish, by=actor.name)
        await ground.note(actor.entry("articles.reindex", kind="job", object=job_id, scope=body.scope))
    return ReindexAnswer.from_record(planned, job_id=job_id)


@router.post("/retry-failed", operation_id="retryFailedEmbeddings")
async def retry_failed(ground: Here, actor: Admin, body: RetryBody | None = None) -> Retried:
    """Start failed embeddings again, with all their attempts: all, or those of one category."""
    category = None if body is None else body.category
    count = await upkeep.retry_failed(ground.app, category=category, by=actor.name)
    await ground.note(actor.entry("articles.retry_failed", kind="article", category=category, retried=count))
    return Retried(retried=count)


@router.post("/clear", operation_id="clearEmbeddingTasks")
async def clear(ground: Here, actor: Admin, body: ClearBody) -> Cleared:
    """Forget completed embedding tasks that ended longer ago. Articles and vectors stay."""
    count = await upkeep.clear_completed(ground.app, body.older_than_days, by=actor.name)
    await ground.note(actor.entry("articles.clear", kind="article", olderThanDays=body.older_than_days, cleared=count))
    return Cleared(cleared=count)


@router.get("/generations", operation_id="listGenerations")
async def list_generations(ground: Here, actor: Viewer) -> GenerationList:
    async with ground.app.connection() as connection:
        return GenerationList(items=await generations.listing(connection))


@router.post("/generations", operation_id="buildGeneration", status_code=202)
async def build(ground: Here, search: Parts, actor: Admin, body: NewGenerationBody) -> Generation:
    """The embedder is tried first. A job fills the new generation; it is `ready` when nothing is missing any more."""
    made = await building.build(search, **body.model_dump(), by=actor.name)
    await ground.note(actor.entry("generation.build", kind="generation", object=made.id, name=made.name))
    return made


@router.post("/generations/roll-back", operation_id="rollBackGeneration")
async def roll_back(ground: Here, search: Parts, actor: Admin) -> Generation:
    """Searches are answered again by the generation that was active before this one."""
    made = await building.roll_back(search, by=actor.name)
    await ground.note(actor.entry("generation.roll_back", kind="generation", object=made.id))
    return made


@router.get("/generations/{generationId}", operation_id="getGeneration")
async def get_generation(search: Parts, actor: Viewer, generation_id: _GenerationId) -> GenerationDetail:
    """With how much of the articles it stands for."""
    async with search.app.connection() as connection:
        found = await generations.get(connection, generation_id)
        if found is None:
            raise not_found(f"generation {generation_id}")
        covered = await search.counted.coverage(connection, found)
        return GenerationDetail(**asdict(found), coverage=covered, chunks=await chunks(connection, found))


@router.post("/generations/{generationId}/switch", operation_id="switchGeneration")
async def switch(ground: Here, search: Parts, actor: Admin, generation_id: _GenerationId) -> Generation:
    """Searches are answered by this one from now on; the one before stays and is kept up to date."""
    made = await building.switch(search, generation_id, by=actor.name)
    await ground.note(actor.entry("generation.switch", kind="generation", object=generation_id))
    return made


@router.delete("/generations/{generationId}", operation_id="dropGeneration")
async def drop(ground: Here, search: Parts, actor: Admin, generation_id: _GenerationId) -> Generation:
    """Its vectors go; the active one cannot be dropped."""
    made = await building.drop(search, generation_id, by=actor.name)
    await ground.note(actor.entry("generation.drop", kind="generation", object=generation_id))
    return made


@router.get("/generations/{generationId}/comparison", operation_id="compareGenerations")
async def compare(
    ground: Here,
    search: Parts,
    actor: Admin,
    generation_id: _GenerationId,
    other: Annotated[int, Query(alias="with", ge=1, le=_MOST_GENERATION, description="The other generation.")],
    limit: Annotated[int, Query(ge=1, le=100, description="How many of the best articles count.")] = 10,
) -> Comparison:
    """Both on everybody's saved queries, over all articles; `a` is the one in the path."""
    found = await comparing.compare(search, generation_id, other, limit=limit)
    await ground.note_look(actor.entry("generation.compare", kind="generation", object=generation_id))
    return found


@queries.get("", operation_id="listQueries")
async def list_queries(ground: Here, actor: Viewer, user_id: UserId = "me") -> QueryList:
    owner = whose(actor, user_id)
    async with ground.app.connection() as connection:
        found = await comparing.saved_queries(connection, owner=owner)
    if owner is None:
        await ground.note_look(actor.entry("articles.look_at_queries", kind="article"))
    return QueryList(items=found)


@queries.post("", operation_id="saveQuery", status_code=201)
async def save(ground: Here, actor: Operator, body: NewQueryBody) -> SavedQuery:
    """The same query again changes what is expected of it."""
    async with ground.app.connection() as connection:
        return await comparing.save_query(connection, owner=actor.name, query=body.query, expected=body.expected)


@queries.delete("/{queryId}", operation_id="removeQuery", status_code=204)
async def remove(ground: Here, actor: Operator, query_id: _QueryId) -> None:
    async with ground.app.connection() as connection:
        gone = await comparing.forget_query(connection, query_id, owner=None if actor.is_admin else actor.name)
    if not gone:
        raise not_found(f"saved query {query_id}")
    if actor.is_admin:
        await ground.note(actor.entry("query.remove", kind="query", object=query_id))
