"""`/api/analyses` and `/api/models`: what the application answers, with the service's own rules of access."""

from fastapi import APIRouter

from penstock.extensions.sites import api_adding, api_deciding, api_models, api_reading

router = APIRouter()
for _part in (api_adding, api_reading, api_deciding, api_models):
    router.include_router(_part.router)
