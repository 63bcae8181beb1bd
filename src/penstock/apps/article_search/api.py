"""`/api/articles`, `/api/search` and `/api/article-index`: what the application answers, with the service's rules."""

from fastapi import APIRouter

from penstock.apps.article_search import (
    api_articles,
    api_generations,
    api_import,
    api_index,
    api_list,
    api_queries,
    api_revisions,
    api_search,
)
from penstock.apps.article_search.api_ground import lifespan

router = APIRouter(lifespan=lifespan)
for _part in (
    api_import,
    api_list,
    api_articles,
    api_revisions,
    api_search,
    api_index,
    api_generations,
    api_queries,
):
    router.include_router(_part.router)
