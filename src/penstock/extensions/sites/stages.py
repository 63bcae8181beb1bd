"""The three stages of an analysis: read the site, form the prompts, ask the models.

Each result is stored before the next stage begins. Pages are stored in the transaction that ends the first stage,
answers one by one as they come: whatever dies, nothing is fetched or paid for twice.
"""

import asyncio
from datetime import timedelta
from hashlib import sha256
from typing import Any

import orjson

from penstock import Context, Penstock, Snooze
from penstock.extensions.sites import answers, orders, pages
from penstock.extensions.sites.extract.reading import Reader
from penstock.extensions.sites.facts import SiteFacts
from penstock.extensions.sites.fetch.client import Client
from penstock.extensions.sites.fetch.crawl import crawl
from penstock.extensions.sites.fetch.fetched import Fetcher
from penstock.extensions.sites.fetch.kept import KeptFetcher
from penstock.extensions.sites.fetch.live import LiveFetcher
from penstock.extensions.sites.models.asking import ask_all, budget_note
from penstock.extensions.sites.models.budget import Budget
from penstock.extensions.sites.models.registry import Models
from penstock.extensions.sites.names import READING
from penstock.extensions.sites.options import Options, chosen
from penstock.extensions.sites.problem import SiteProblem
from penstock.extensions.sites.prompt import Prompt
from penstock.extensions.sites.prompts.forming import VERSION as TEMPLATES
from penstock.extensions.sites.prompts.forming import form
from penstock.extensions.sites.scores import Share, SiteScoring
from penstock.extensions.sites.scoring.score import score
from penstock.extensions.sites.settings import SitesSettings
from penstock.language.embedding import Embedder

RESULT_COLUMNS = ("Name", "Pages", "Prompts", "Coverage", "Visibility", "Unsupported claims", "Cost")
_REVIEW = timedelta(days=1)


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
