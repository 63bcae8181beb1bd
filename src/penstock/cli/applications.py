"""What `penstock up` and `penstock serve` run when no application is named: all that ships with Penstock."""

import importlib
import importlib.util
from types import ModuleType

from fastapi import APIRouter

from penstock.cli import demo_app
from penstock.engine.app import Penstock

# Each has `install(app)`, and `routers()` if it answers requests of its own.
_APPLICATIONS = (
    "penstock.apps.catalogue",
    "penstock.apps.website_analysis",
    "penstock.apps.article_search",
    "penstock.apps.record_linking",
)


def installed() -> list[ModuleType]:
    """Those that are part of this build."""
    packages = [name for name in _APPLICATIONS if importlib.util.find_spec(name.rpartition(".")[0]) is not None]
    return [importlib.import_module(name) for name in packages if importlib.util.find_spec(name) is not None]


def routers() -> list[APIRouter]:
    """What the applications answer beside the service itself."""
    return [router for one in installed() if hasattr(one, "routers") for router in one.routers()]


def make() -> Penstock:
    """Under a name of its own: an application that somebody left without one is called "penstock"."""
    made = Penstock("showcase")
    demo_app.install(made)

    @made.task(name="sample_places")
    async def sample_places() -> str | None:
        """Where `penstock up` serves what the demonstration asks: only its workers know."""
        return made.settings.sample_url

    for one in installed():
        one.install(made)
    return made


app = make()
