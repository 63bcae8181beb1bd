"""The three stages of an analysis without network and models: the same results for every site."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from penstock import Context, Penstock, PermanentError, Snooze
from penstock.extensions import sites
from penstock.extensions.sites import answers, orders
from penstock.extensions.sites.findings import (
    Answer,
    Evidence,
    FoundAt,
    Prompt,
    PromptCoverage,
    PromptKind,
    ReadPage,
    Share,
    SiteFacts,
    SiteScoring,
    SiteTopic,
)
from penstock.extensions.sites.settings import chosen
from penstock.extensions.sites.submitting import options_of

NASTY = "<script>alert(1)</script>"


def facts_of(url: str) -> SiteFacts:
    page = ReadPage(
        url=url,
        status=200,
        sha256="0" * 64,
        content_type="text/html",
        charset="utf-8",
        title="Willow Lane Bicycles",
        description=None,
        language="en",
        canonical=None,
        headings=(),
        open_graph={"og:site_name": "Willow Lane"},
        json_ld=(),
        text="We repair bicycles within two days.",
        words=6,
        links=(),
    )
    return SiteFacts(
        url=url,
        name="Willow Lane Bicycles",
        title=f"Bicycles {NASTY}",
        description=None,
        language="en",
        canonical=None,
        topics=(SiteTopic(text="bicycle repair", weight=1.0, place=FoundAt(page=url, quote="We repair bicycles")),),
        pages=(page,),
    )


def prompts_of(url: str) -> list[Prompt]:
    return [
        Prompt(text=f"Who {verb} bicycles?", kind=PromptKind.TOPIC, fact="bicycle repair", page=url, template="who@1")
        for verb in ("repairs", "hires out")
    ]


def scores_of(prompts: list[Prompt]) -> SiteScoring:
    half = Share(value=0.5, low=0.2, high=0.8, count=2)
    none = Share(value=None, low=None, high=None, count=0)
    said = Evidence(sentence="We repair bicycles within two days.", page="http://bicycles.example/", similarity=0.8)
    return SiteScoring(
        coverage=half,
        visibility=none,
        by_kind={"topic": half},
        by_topic={"bicycle repair": half},
        by_model={"offline": none},
        prompts=tuple(PromptCoverage(prompt=one.key, covered=True, similarity=0.8, evidence=said) for one in prompts),
        cells=(),
        unsupported=0,
        improvements=("Say what hiring costs.",),
        cost=0.0,
        tokens_in=0,
        tokens_out=0,
    )


def install(app: Penstock) -> None:
    """Sites whose address holds "broken" fail."""
    pipeline = app.pipeline("sites", check_options=lambda given: options_of(app, given))

    @pipeline.stage("website-analysis", version="1")
    async def read(ctx: Context, url: str) -> Any:
        if "broken" in url:
            raise PermanentError(f"{url} answers 404: there is no such page.")
        return facts_of(url).as_json()

    @pipeline.stage("prompt-forming", version="1")
    async def form(ctx: Context, found: dict[str, Any]) -> Any:
        return {"prompts": [one.as_json() for one in prompts_of(found["url"])], "templates": "1", "facts": "0"}

    @pipeline.stage("model-analysis", version="1")
    async def ask(ctx: Context, formed: dict[str, Any]) -> Any:
        options = chosen(app.settings, (await ctx.job_metadata()).get("options", {}))
        async with app.connection() as connection:
            order = await orders.get(connection, ctx.task_id)
            if options.review and (order is None or order.approved_at is None):
                return Snooze(timedelta(days=1), reason="its prompts wait for approval")
            prompts = [Prompt.from_json(one) for one in formed["prompts"]]
            if order is not None and order.prompts is not None:
                prompts = list(order.prompts)
            for one in prompts:
                answer = Answer(prompt=one.key, model="offline", sample=1, text=f"An answer to {one.text}")
                await answers.store(connection, ctx.task_id, ctx.run, answer)
        return {
            "columns": {},
            "scores": scores_of(prompts).as_json(),
            "options": options.as_json(),
            "prompts": [prompt.as_json() for prompt in prompts],
        }


extension = replace(sites.extension, install=install)
