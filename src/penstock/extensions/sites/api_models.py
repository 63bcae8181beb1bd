"""`GET /api/models`: which models can be chosen, and what they cost."""

from fastapi import APIRouter, Request

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import ground_of
from penstock.console.http.problems import documented
from penstock.extensions.sites.models.registry import Models
from penstock.extensions.sites.options import chosen
from penstock.extensions.sites.settings import SitesSettings
from penstock.extensions.sites.submitting import MOST_PROMPTS, MOST_SAMPLES
from penstock.extensions.sites.wire import ModelList, Usual

router = APIRouter(prefix="/api/models", tags=["analyses"], responses=documented())


@router.get("", operation_id="listModels")
async def list_models(request: Request, actor: Viewer) -> ModelList:
    """As this process finds the models file and the environment; workers read their own. With what an analysis uses
    that leaves something out."""
    app = ground_of(request).app
    usual = chosen(app.settings, {})
    return ModelList(
        items=Models(app).listing(),
        usual=Usual(
            models=list(usual.models),
            pages=usual.pages,
            most_pages=app.settings.of(SitesSettings).max_pages,
            samples=usual.samples,
            most_samples=MOST_SAMPLES,
            prompts=usual.prompts,
            most_prompts=MOST_PROMPTS,
            budget=usual.budget,
        ),
    )
