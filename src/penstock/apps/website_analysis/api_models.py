"""`GET /api/models`: which models can be chosen, and what they cost."""

from dataclasses import asdict

from fastapi import APIRouter, Request

from penstock.apps.website_analysis.models.registry import Models
from penstock.apps.website_analysis.options import chosen
from penstock.apps.website_analysis.submitting import MOST_PROMPTS, MOST_SAMPLES
from penstock.apps.website_analysis.wire import ModelBody, ModelList, Usual
from penstock.service.actor import Viewer
from penstock.service.ground import ground_of
from penstock.service.problems import documented

router = APIRouter(prefix="/api/models", tags=["analyses"], responses=documented())


@router.get("", operation_id="listModels")
async def list_models(request: Request, actor: Viewer) -> ModelList:
    """As this process finds the models file and the environment; workers read their own. With what an analysis uses
    that leaves something out."""
    app = ground_of(request).app
    usual = chosen(app.settings, {})
    return ModelList(
        items=[ModelBody(**asdict(one), ready=one.problem is None) for one in Models(app).listing()],
        usual=Usual(
            models=list(usual.models),
            pages=usual.pages,
            most_pages=app.settings.sites_max_pages,
            samples=usual.samples,
            most_samples=MOST_SAMPLES,
            prompts=usual.prompts,
            most_prompts=MOST_PROMPTS,
            budget=usual.budget,
        ),
    )
