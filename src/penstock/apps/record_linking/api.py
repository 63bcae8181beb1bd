"""`/api/projects`: what record linking answers, with the service's rules."""

from fastapi import APIRouter

from penstock.apps.record_linking import (
    api_deciding,
    api_export,
    api_matching,
    api_projects,
    api_records,
    api_setup,
)
from penstock.apps.record_linking.api_ground import lifespan

router = APIRouter(lifespan=lifespan)
for _part in (api_setup, api_projects, api_matching, api_records, api_deciding, api_export):
    router.include_router(_part.router)
