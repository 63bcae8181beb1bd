"""The service as a process of its own, for the fuzzer: ``uvicorn --factory tests.console.fuzz_app:make``.

Its database comes from the environment, as everywhere.
"""

from fastapi import FastAPI

from penstock.console.http.app import create
from tests.console import service_app


def make() -> FastAPI:
    return create(service_app.make())
