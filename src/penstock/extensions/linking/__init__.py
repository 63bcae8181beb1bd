"""Record linking: the rows of a dataset are matched against Wikidata, or any reconciliation service.

from penstock import Penstock
from penstock.extensions import linking

app = Penstock("library")
app.install(linking.extension)
"""

from typing import TYPE_CHECKING

from penstock.extension import Extension

if TYPE_CHECKING:
    from penstock import Penstock
    from penstock.extensions.linking.shared import RecordLinking

__all__ = ["extension", "install"]

_EVENTS = {
    "linking.created": ("info", "a project was made out of a dataset"),
    "linking.started": ("info", "somebody had records of a project matched"),
    "linking.cancelled": ("info", "somebody cancelled the run of a project"),
    "linking.reranked": ("info", "somebody had a project ranked again from the cache"),
    "linking.decided": ("info", "somebody accepted, rejected, reopened or undid matches"),
    "linking.deleted": ("info", "somebody deleted a project"),
}

extension = Extension(
    name="linking",
    install="penstock.extensions.linking.installing:install",
    # As databases of every release have it.
    owner="penstock.apps",
    migrations="penstock.extensions.linking",
    formerly={1: 8, 2: 10},
    settings="penstock.extensions.linking.settings:LinkingSettings",
    events=_EVENTS,
    touches=dict.fromkeys(("project", *_EVENTS), "project"),
    router="penstock.extensions.linking.api:router",
    commands={
        "link": (
            "Match records against Wikidata: import, match, review, export.",
            "penstock.extensions.linking.commands",
        )
    },
    screens={"/linking": "Linking"},
    extra="linking",
)


def install(app: "Penstock", shared: "RecordLinking | None" = None) -> "RecordLinking":
    """Needs no database; close what it returns where the process goes on without the app."""
    linking: RecordLinking = app.install(extension, shared=shared)
    return linking
