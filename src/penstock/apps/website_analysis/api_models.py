"""`GET /api/models`: which models can be chosen, and what they cost."""

from dataclasses import asdict

from fastapi import APIRouter, Request

from penstock.apps.website_analysis.models.registry import Models
from penstock.apps.website_analysis.wire import ModelBody, ModelList
from penstock.service.actor import Viewer
from penstock.service.ground import ground_of
from penstock.service.problems import documented

router = APIRouter(prefix="/api/models", tags=["analyses"], responses=documented())


@router.get("", operation_id="listModels")
async def list_models(request: Request, actor: Viewer) -> ModelList:
    """As this process finds the models file and the environment; workers read their own."""
    views = Models(ground_of(request).app).listing()
    return ModelList(items=[ModelBody(**asdict(one), ready=one.problem is None) for one in views])
