"""The three stages of an analysis: read the site, form the prompts, ask the models; and the daily upkeep beside them.

Each result is stored before the next stage begins. Pages are stored in the transaction that ends the first stage,
answers one by one as they come: whatever dies, nothing is fetched or paid for twice.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import orjson

from penstock import Context, Penstock, RetryPolicy, Snooze
from penstock.control import limits
from penstock.extensions.sites import answers, orders, pages
from penstock.extensions.sites.budgets import Budget
from penstock.extensions.sites.extract.site import VERSION as EXTRACTION
from penstock.extensions.sites.extract.site import Reader
from penstock.extensions.sites.fetch.crawl import crawl
from penstock.extensions.sites.fetch.fetched import Fetcher, KeptFetcher, SiteProblem
from penstock.extensions.sites.fetch.live import Client, LiveFetcher, limiter_key
from penstock.extensions.sites.findings import ASKING, FORMING, PIPELINE, READING, Prompt, Share, SiteFacts, SiteScoring
from penstock.extensions.sites.models.asking import ask_all, budget_note
from penstock.extensions.sites.models.registry import Models
from penstock.extensions.sites.prompts.forming import VERSION as TEMPLATES
from penstock.extensions.sites.prompts.forming import form
from penstock.extensions.sites.scoring.score import score
from penstock.extensions.sites.settings import Options, SitesSettings, chosen
from penstock.extensions.sites.submitting import options_of
from penstock.language.embedding import Embedder
from penstock.storage.queries import load

RESULT_COLUMNS = ("Name", "Pages", "Prompts", "Coverage", "Visibility", "Unsupported claims", "Cost")
_REVIEW = timedelta(days=1)
_sql = load("leftovers", "penstock.extensions.sites")
Connection = Any
_SWEPT_ROWS = 1000
_UNUSED_SECONDS = 86_400.0
_PATIENT = RetryPolicy(base_seconds=2.0, cap_seconds=120.0)
# An endpoint that is down for a minute is not down for good.
_VERY_PATIENT = RetryPolicy(base_seconds=15.0, factor=4.0, cap_seconds=300.0)


class SiteAnalysis:
    """What the handlers of one process share: a client, a reader, the models."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._client: Client | None = None
        self._reader: Reader | None = None
        self._models: Models | None = None
        self._embedder: Embedder | None = None

    async def close(self) -> None:
        for part in (self._client, self._reader, self._models):
            if part is not None:
                await part.close()
        self._client = self._reader = self._models = None

    async def read(self, ctx: Context, url: str) -> None:
        """The first stage ends with its pages in one transaction."""
        options = await self._options(ctx)
        fetcher = await self._fetcher(ctx, options)
        found = await crawl(
            url,
            pages=options.pages,
            fetcher=fetcher,
            user_agent=self._app.settings.of(SitesSettings).user_agent,
            told=ctx.progress,
        )
        if self._reader is None:
            self._reader = Reader()
        facts = await self._reader.read(found)
        async with ctx.transaction() as transaction:
            await pages.keep(transaction.connection, ctx.task_id, ctx.run, found.kept)
            transaction.result = facts.as_json()

    async def form(self, ctx: Context, found: dict[str, Any]) -> dict[str, Any]:
        options = await self._options(ctx)
        prompts = await asyncio.to_thread(form, SiteFacts.from_json(found), most=options.prompts)
        if options.review:
            async with self._app.connection() as connection:
                await orders.withdraw_approval(connection, ctx.task_id)
        # With the digest of the facts: the same prompts about a site that says something else are asked again.
        digest = sha256(orjson.dumps(found, option=orjson.OPT_SORT_KEYS)).hexdigest()
        return {"prompts": [prompt.as_json() for prompt in prompts], "templates": TEMPLATES, "facts": digest}

    async def ask(self, ctx: Context, formed: dict[str, Any]) -> Any:
        """Reads more than its input (edited prompts, the models as they are now), so the engine must not skip it;
        answers of earlier runs are taken over one by one instead."""
        options = await self._options(ctx)
        async with self._app.connection() as connection:
            order = await orders.get(connection, ctx.task_id)
        if options.review and (order is None or order.approved_at is None):
            return Snooze(_REVIEW, reason="its prompts wait for approval; no model is asked before")
        prompts = [Prompt.from_json(one) for one in formed["prompts"]]
        if order is not None and order.prompts is not None:
            prompts = list(order.prompts)
        facts = SiteFacts.from_json(await ctx.result_of(READING))
        given = await self._answers(ctx, options, facts, prompts)
        if self._embedder is None:
            self._embedder = await asyncio.to_thread(Embedder.load)
        scores = await asyncio.to_thread(score, facts, prompts, given, self._embedder)
        return {
            "columns": _columns(facts, prompts, scores),
            "scores": scores.as_json(),
            "options": options.as_json(),
            "prompts": [prompt.as_json() for prompt in prompts],
            "notes": [note for note in (budget_note(given),) if note is not None],
        }

    async def _answers(self, ctx: Context, options: Options, facts: SiteFacts, prompts: list[Prompt]) -> list[Any]:
        if self._models is None:
            self._models = Models(self._app)
        models = self._models.choose(options.models)
        if ctx.run > 1 and not options.fresh:
            async with self._app.connection() as connection:
                await answers.reuse(connection, ctx.task_id, ctx.run, {model.name: model.version for model in models})
        # A task without a job has a budget of its own.
        budget = await Budget.open(self._app, ctx.job_id or -ctx.task_id, options.budget)
        return await ask_all(
            self._app, ctx, models=models, prompts=prompts, samples=options.samples, facts=facts, budget=budget
        )

    async def _options(self, ctx: Context) -> Options:
        """What was decided about this run of the site goes over what the job was submitted with."""
        options = chosen(self._app.settings, (await ctx.job_metadata()).get("options", {}))
        async with self._app.connection() as connection:
            order = await orders.get(connection, ctx.task_id)
        return options.changed(order.options) if order is not None and order.for_run == ctx.run else options

    async def _fetcher(self, ctx: Context, options: Options) -> Fetcher:
        if not options.replay:
            if self._client is None:
                self._client = Client(self._app)
            return LiveFetcher(ctx, self._client)
        async with self._app.connection() as connection:
            kept = await pages.kept(connection, ctx.task_id)
        if not kept:
            raise SiteProblem("No page of this site is kept from an earlier run. Run it again without replay.")
        return KeptFetcher(kept)


def _columns(facts: SiteFacts, prompts: list[Prompt], scores: SiteScoring) -> dict[str, Any]:
    """What a grid and an export show."""
    values = (
        facts.name,
        len(facts.pages),
        len(prompts),
        _shown(scores.coverage),
        _shown(scores.visibility),
        scores.unsupported,
        round(scores.cost, 6),
    )
    return dict(zip(RESULT_COLUMNS, values, strict=True))


def _shown(share: Share) -> float | None:
    return None if share.value is None else round(share.value, 3)


async def sweep_leftovers(connection: Connection) -> int:
    """A batch of each table's rows of tasks and jobs that are no more; returns how many, 0 when none is left."""
    removed = 0
    for statement in (_sql.pages, _sql.answers, _sql.orders, _sql.reservations, _sql.budgets):
        said: str = await connection.execute(statement, _SWEPT_ROWS)
        removed += int(said.rpartition(" ")[2])
    return removed


def install_upkeep(app: Penstock) -> None:
    @app.task(name="sites.forget", internal=True)
    async def forget() -> dict[str, int]:
        return await forget_old(app)

    app.schedule("13 4 * * *", forget, name="sites.forget", options={"unique_key": "sites.forget"})


async def forget_old(app: Penstock) -> dict[str, int]:
    """How many pages, rows of tasks that are gone, and limits were removed, a batch per transaction."""
    old_pages = await _swept(app, lambda connection: pages.sweep(connection, app.settings.of(SitesSettings).keep_days))
    leftovers = await _swept(app, sweep_leftovers)
    hosts = await limits.forget_unused(app, limiter_key(""), unused_seconds=_UNUSED_SECONDS)
    return {"pages": old_pages, "leftovers": leftovers, "limits": hosts}


async def _swept(app: Penstock, sweep: Callable[[Connection], Awaitable[int]]) -> int:
    removed = 0
    while True:
        async with app.connection() as connection:
            gone = await sweep(connection)
        if not gone:
            return removed
        removed += gone


def install(app: Penstock, analysis: SiteAnalysis | None = None) -> SiteAnalysis:
    """Declare the pipeline. Needs no database; close what it returns where the process goes on without the app."""
    site = analysis or SiteAnalysis(app)
    settings = app.settings.of(SitesSettings)
    pipeline = app.pipeline(PIPELINE, result_columns=RESULT_COLUMNS, check_options=lambda given: options_of(app, given))

    pipeline.stage(READING, version=EXTRACTION, timeout=settings.timeout_seconds, retry=_PATIENT)(site.read)
    pipeline.stage(FORMING, version=TEMPLATES)(site.form)
    pipeline.stage(ASKING, timeout=settings.model_timeout_seconds, retry=_VERY_PATIENT)(site.ask)
    install_upkeep(app)
    return site
