"""What website analysis declares in an application: its pipeline of three stages and its upkeep."""

from typing import Any

from penstock import Context, Penstock, RetryPolicy
from penstock.extensions.sites import stages
from penstock.extensions.sites.extract.site import VERSION as EXTRACTION
from penstock.extensions.sites.names import ASKING, FORMING, PIPELINE, READING
from penstock.extensions.sites.prompts.forming import VERSION as TEMPLATES
from penstock.extensions.sites.settings import SitesSettings
from penstock.extensions.sites.submitting import options_of
from penstock.extensions.sites.upkeep import install_upkeep

_PATIENT = RetryPolicy(base_seconds=2.0, cap_seconds=120.0)
# An endpoint that is down for a minute is not down for good.
_VERY_PATIENT = RetryPolicy(base_seconds=15.0, factor=4.0, cap_seconds=300.0)


def install(app: Penstock, analysis: stages.SiteAnalysis | None = None) -> stages.SiteAnalysis:
    """Declare the pipeline. Needs no database; close what it returns where the process goes on without the app."""
    site = analysis or stages.SiteAnalysis(app)
    settings = app.settings.of(SitesSettings)
    pipeline = app.pipeline(
        PIPELINE, result_columns=stages.RESULT_COLUMNS, check_options=lambda given: options_of(app, given)
    )

    @pipeline.stage(READING, version=EXTRACTION, timeout=settings.timeout_seconds, retry=_PATIENT)
    async def read(ctx: Context, url: str) -> None:
        await site.read(ctx, url)

    @pipeline.stage(FORMING, version=TEMPLATES)
    async def form(ctx: Context, found: dict[str, Any]) -> Any:
        return await site.form(ctx, found)

    @pipeline.stage(ASKING, timeout=settings.model_timeout_seconds, retry=_VERY_PATIENT)
    async def ask(ctx: Context, formed: dict[str, Any]) -> Any:
        return await site.ask(ctx, formed)

    install_upkeep(app)
    return site
