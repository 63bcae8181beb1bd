"""Website analysis: read a site, form the questions its customers would ask, ask models, report with evidence.

    from penstock import Penstock
    from penstock.apps import website_analysis

    app = Penstock("agency")
    website_analysis.install(app)

Three stages, each with its own queue and pool of processors; ``docs/website-analysis.md`` is the page for people.
"""

from typing import TYPE_CHECKING, Any

from penstock import Context, Penstock, RetryPolicy
from penstock.apps.website_analysis.names import ASKING, FORMING, PIPELINE, READING

if TYPE_CHECKING:
    from fastapi import APIRouter

    from penstock.apps.website_analysis.stages import SiteAnalysis

__all__ = ["PIPELINE", "install", "routers"]

_PATIENT = RetryPolicy(base_seconds=2.0, cap_seconds=120.0)
# An endpoint that is down for a minute is not down for good.
_VERY_PATIENT = RetryPolicy(base_seconds=15.0, factor=4.0, cap_seconds=300.0)


def install(app: Penstock, analysis: "SiteAnalysis | None" = None) -> "SiteAnalysis":
    """Declare the pipeline. Needs no database; close what it returns where the process goes on without the app."""
    from penstock.apps.website_analysis import stages
    from penstock.apps.website_analysis.extract.site import VERSION as EXTRACTION
    from penstock.apps.website_analysis.prompts.forming import VERSION as TEMPLATES
    from penstock.apps.website_analysis.submitting import options_of
    from penstock.apps.website_analysis.upkeep import install_upkeep

    site = analysis or stages.SiteAnalysis(app)
    settings = app.settings
    pipeline = app.pipeline(
        PIPELINE, result_columns=stages.RESULT_COLUMNS, check_options=lambda given: options_of(app, given)
    )

    @pipeline.stage(READING, version=EXTRACTION, timeout=settings.sites_timeout_seconds, retry=_PATIENT)
    async def read(ctx: Context, url: str) -> None:
        await site.read(ctx, url)

    @pipeline.stage(FORMING, version=TEMPLATES)
    async def form(ctx: Context, found: dict[str, Any]) -> Any:
        return await site.form(ctx, found)

    @pipeline.stage(ASKING, timeout=settings.sites_model_timeout_seconds, retry=_VERY_PATIENT)
    async def ask(ctx: Context, formed: dict[str, Any]) -> Any:
        return await site.ask(ctx, formed)

    install_upkeep(app)
    return site


def routers() -> "list[APIRouter]":
    """What the application answers over HTTP."""
    from penstock.apps.website_analysis.api import router

    return [router]
