"""`/api/article-index/generations`: other models beside the one that answers, compared, switched to, and dropped."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from penstock.apps.article_search import building, comparing, generations
from penstock.apps.article_search.api_ground import parts
from penstock.apps.article_search.shapes_index import comparison_body, generation_body, generation_detail
from penstock.apps.article_search.wire_index import (
    MOST_GENERATION,
    ComparisonBody,
    GenerationBody,
    GenerationDetail,
    GenerationId,
    GenerationList,
    NewGenerationBody,
)
from penstock.service.actor import Admin, Viewer
from penstock.service.ground import ground_of
from penstock.service.problems import documented, not_found

router = APIRouter(prefix="/api/article-index/generations", tags=["article index"], responses=documented(409))


@router.get("", operation_id="listGenerations")
async def list_generations(request: Request, actor: Viewer) -> GenerationList:
    async with ground_of(request).app.connection() as connection:
        found = await generations.listing(connection)
    return GenerationList(items=[generation_body(one) for one in found])


@router.post("", operation_id="buildGeneration", status_code=202)
async def build(request: Request, actor: Admin, body: NewGenerationBody) -> GenerationBody:
    """The embedder is tried first. A job fills the new generation; it is `ready` when nothing is missing any more."""
    made = await building.build(
        parts(request),
        name=body.name,
        embedder=body.embedder,
        chunk_characters=body.chunk_characters,
        overlap=body.overlap,
        by=actor.name,
    )
    await ground_of(request).note(actor.entry("generation.build", kind="generation", object=made.id, name=made.name))
    return generation_body(made)


@router.post("/roll-back", operation_id="rollBackGeneration")
async def roll_back(request: Request, actor: Admin) -> GenerationBody:
    """Searches are answered again by the generation that was active before this one."""
    made = await building.roll_back(parts(request), by=actor.name)
    await ground_of(request).note(actor.entry("generation.roll_back", kind="generation", object=made.id))
    return generation_body(made)


@router.get("/{generationId}", operation_id="getGeneration")
async def get_generation(request: Request, actor: Viewer, generation_id: GenerationId) -> GenerationDetail:
    """With how much of the articles it stands for."""
    async with ground_of(request).app.connection() as connection:
        found = await generations.get(connection, generation_id)
    if found is None:
        raise not_found(f"generation {generation_id}")
    return await generation_detail(parts(request), found)


@router.post("/{generationId}/switch", operation_id="switchGeneration")
async def switch(request: Request, actor: Admin, generation_id: GenerationId) -> GenerationBody:
    """Searches are answered by this one from now on; the one before stays and is kept up to date."""
    made = await building.switch(parts(request), generation_id, by=actor.name)
    await ground_of(request).note(actor.entry("generation.switch", kind="generation", object=generation_id))
    return generation_body(made)


@router.delete("/{generationId}", operation_id="dropGeneration")
async def drop(request: Request, actor: Admin, generation_id: GenerationId) -> GenerationBody:
    """Its vectors go; the active one cannot be dropped."""
    made = await building.drop(parts(request), generation_id, by=actor.name)
    await ground_of(request).note(actor.entry("generation.drop", kind="generation", object=generation_id))
    return generation_body(made)


@router.get("/{generationId}/comparison", operation_id="compareGenerations")
async def compare(
    request: Request,
    actor: Admin,
    generation_id: GenerationId,
    other: Annotated[int, Query(alias="with", ge=1, le=MOST_GENERATION, description="The other generation.")],
    limit: Annotated[int, Query(ge=1, le=100, description="How many of the best articles count.")] = 10,
) -> ComparisonBody:
    """Both on everybody's saved queries, over all articles; `a` is the one in the path."""
    found = await comparing.compare(parts(request), generation_id, other, limit=limit)
    await ground_of(request).note_look(actor.entry("generation.compare", kind="generation", object=generation_id))
    return comparison_body(found)
