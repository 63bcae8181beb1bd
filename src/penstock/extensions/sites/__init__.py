"""Website analysis: read a site, form the questions its customers would ask, ask models, report with evidence.

    from penstock import Penstock
    from penstock.extensions import sites

    app = Penstock("agency")
    app.install(sites.extension)

Three stages, each with its own queue and pool of processors; ``docs/website-analysis.md`` is the page for people.
"""

from typing import TYPE_CHECKING

from penstock.extension import Extension

if TYPE_CHECKING:
    from penstock import Penstock
    from penstock.extensions.sites.stages import SiteAnalysis

__all__ = ["extension", "install"]

extension = Extension(
    name="sites",
    install="penstock.extensions.sites.stages:install",
    # As databases of every release have it.
    owner="penstock.apps",
    migrations="penstock.extensions.sites",
    formerly={1: 5},
    settings="penstock.extensions.sites.settings:SitesSettings",
    touches={"analysis": "site", "site": "site"},
    router="penstock.extensions.sites.api:router",
    commands={
        "sites": (
            "Analyse websites: add them, watch them, edit their prompts, report.",
            "penstock.extensions.sites.commands",
        )
    },
    screens={"/sites": "Sites"},
    extra="sites",
)


def install(app: "Penstock", analysis: "SiteAnalysis | None" = None) -> "SiteAnalysis":
    """Needs no database; close what it returns where the process goes on without the app."""
    site: SiteAnalysis = app.install(extension, analysis=analysis)
    return site
