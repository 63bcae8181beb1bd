"""`/api/analyses` and `/api/models`: what the application answers, with the service's own rules of access."""

from fastapi import APIRouter

from penstock.apps.website_analysis import api_adding, api_deciding, api_models, api_reading, api_report

router = APIRouter()
for _part in (api_adding, api_reading, api_deciding, api_report, api_models):
    router.include_router(_part.router)
