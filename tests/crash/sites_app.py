"""The website analysis, each stage of which leaves its trace in the ledger."""

from typing import Any

from penstock import Context, Penstock
from penstock.extensions import sites
from penstock.extensions.sites.findings import ASKING, FORMING, READING
from penstock.extensions.sites.stages import SiteAnalysis
from penstock.testing.ledger import Pen

app = Penstock("sites")
pen = Pen()


class Noted(SiteAnalysis):
    """``start STAGE`` when a run begins, ``end STAGE`` when the handler has ended, however it did."""

    async def read(self, ctx: Context, url: str) -> None:
        pen.note(ctx, f"start {READING}")
        try:
            await super().read(ctx, url)
        finally:
            pen.note(ctx, f"end {READING}")

    async def form(self, ctx: Context, found: dict[str, Any]) -> dict[str, Any]:
        pen.note(ctx, f"start {FORMING}")
        try:
            return await super().form(ctx, found)
        finally:
            pen.note(ctx, f"end {FORMING}")

    async def ask(self, ctx: Context, formed: dict[str, Any]) -> Any:
        pen.note(ctx, f"start {ASKING}")
        try:
            return await super().ask(ctx, formed)
        finally:
            pen.note(ctx, f"end {ASKING}")


sites.install(app, Noted(app))
