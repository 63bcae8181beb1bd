"""`/api/projects`: what record linking answers, with the service's rules."""

from fastapi import APIRouter

from penstock.extensions.linking import api_projects, api_records, api_setup
from penstock.extensions.linking.api_ground import lifespan

router = APIRouter(lifespan=lifespan)
for _part in (api_setup, api_projects, api_records):
    router.include_router(_part.router)
