"""The service as a process of its own, for the fuzzer: ``uvicorn --factory tests.service.fuzz_app:make``.

Its database comes from the environment, as everywhere.
"""

from fastapi import FastAPI

from penstock.service.app import create
from tests.service import service_app


def make() -> FastAPI:
    return create(service_app.make(), further=service_app.routers())
