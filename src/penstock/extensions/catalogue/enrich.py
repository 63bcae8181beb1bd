"""The handler: one row or one image in, what the providers know about the product out."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock import Context, NotFound, Penstock, Skip
from penstock.errors import PermanentError
from penstock.extensions.catalogue import http_options
from penstock.extensions.catalogue.http_options import HttpOptions
from penstock.extensions.catalogue.http_provider import HttpProvider
from penstock.extensions.catalogue.images import Pictures
from penstock.extensions.catalogue.local_products import LocalProducts
from penstock.extensions.catalogue.offer import options_of
from penstock.extensions.catalogue.provider import Provider
from penstock.extensions.catalogue.search_events import Recorder
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.extensions.catalogue.understood import Understood, roles_of, understand
from penstock.extensions.catalogue.waterfall import ask, providers_for, queries_for, result_of

_HEADINGS = {
    "title": "Matched title",
    "brand": "Matched brand",
    "price": "Price",
    "currency": "Currency",
    "retailer": "Retailer",
    "url": "URL",
}
IMAGE_COLUMNS = ("Image size", "Codes")
RESULT_COLUMNS = (*_HEADINGS.values(), "Match", "Score", *IMAGE_COLUMNS)
_HINTS = {
    "http": " Set PENSTOCK_CATALOGUE_HTTP_URL for it.",
    http_options.SHOP: " It is part of `penstock up` where no application is named.",
}
_ROLES_KEPT = 256
_REASON_QUERIES = 8


class Enricher:
    """What the handlers of one process share. Providers are made at the first row."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._recorder = Recorder(app.connection)
        self._pictures = Pictures(app)
        self._providers: dict[str, Provider] | None = None
        self._http: list[HttpProvider] = []
        self._roles: dict[int, dict[str, int]] = {}

    async def close(self) -> None:
        """Ends connections to providers and readers of images; the next row makes new ones."""
        self._pictures.close()
        http, self._http, self._providers = self._http, [], None
        for provider in http:
            await provider.close()

    @property
    def providers(self) -> dict[str, Provider]:
        """By name, in the default order; the last may be one that only jobs which name it ask."""
        if self._providers is None:
            settings = self._app.settings
            made: list[Provider] = [
                LocalProducts(self._app.connection, threshold=settings.of(CatalogueSettings).match_threshold)
            ]
            if (options := HttpOptions.of(settings)) is not None:
                self._http.append(HttpProvider(options, self._app))
            if (options := http_options.shop_options(settings)) is not None:
                self._http.append(HttpProvider(options, self._app, name=http_options.SHOP))
            made += self._http
            self._providers = {provider.name: provider for provider in made}
        return self._providers

    async def enrich_row(self, ctx: Context, cells: Sequence[str]) -> Any:
        metadata = await ctx.job_metadata()
        understood = understand(self._roles_of(ctx.job_id, metadata), cells)
        if not understood.can_be_looked_up:
            return Skip(_nothing_to_ask(understood))
        return await self._look_up(ctx, metadata, understood, {}, {})

    async def enrich_image(self, ctx: Context, image: Mapping[str, Any]) -> Any:
        """By the codes in the picture."""
        picture = await self._pictures.look(image, job_id=ctx.job_id)
        if not picture.codes:
            return NotFound(f"no barcode or QR code could be read in {picture.name}")
        if picture.understood is None:
            return NotFound(f"no code in {picture.name} is the number of a product: {', '.join(picture.codes)[:500]}")
        metadata = await ctx.job_metadata()
        return await self._look_up(ctx, metadata, picture.understood, picture.columns(), picture.normalized())

    async def _look_up(
        self,
        ctx: Context,
        metadata: Mapping[str, Any],
        understood: Understood,
        columns: dict[str, Any],
        normalized: dict[str, Any],
    ) -> Any:
        chosen = [self.providers[name] for name in providers_for(self._order(metadata), ctx.attempt)]
        queries = queries_for(understood, ctx.attempt)
        found, asked = await ask(ctx, chosen, queries, self._recorder)
        if found is None:
            return self._not_found(asked)
        matched, provenance = result_of(found, _HEADINGS)
        return {
            "columns": matched | columns,
            "normalized": understood.normalized() | normalized,
            "provenance": provenance,
        }

    def _not_found(self, asked: Sequence[str]) -> NotFound:
        """Not at once: a catalogue is filled in hours, and asking costs."""
        more = f" and {len(asked) - _REASON_QUERIES} more" if len(asked) > _REASON_QUERIES else ""
        tried = "; ".join(asked[:_REASON_QUERIES]) or "no provider takes such a question"
        return NotFound(
            f"nothing found; tried: {tried}{more}", again_after=self._app.settings.of(CatalogueSettings).again_seconds
        )

    def _order(self, metadata: Mapping[str, Any]) -> list[str]:
        named = options_of(metadata).get("providers") or [one for one in self.providers if one != http_options.SHOP]
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise PermanentError(f"The option providers is {named!r}; it has to be a list of names.")
        for name in named:
            if name not in self.providers:
                known = ", ".join(self.providers)
                hint = _HINTS.get(name, "")
                raise PermanentError(f"There is no provider {name!r} here; there is: {known}.{hint}")
        return list(dict.fromkeys(named))

    def _roles_of(self, job_id: int | None, metadata: Mapping[str, Any]) -> dict[str, int]:
        """Found out once per job: a file may have thousands of columns, and millions of rows."""
        if job_id is not None and (known := self._roles.get(job_id)) is not None:
            return known
        roles = roles_of(list(metadata.get("columns") or ()), options_of(metadata).get("roles"))
        if not roles:
            raise PermanentError(
                "No column of this file was recognised. Submit it again with the option roles, such as"
                ' {"title": "…", "gtin": "…"}, which names the column of each role.'
            )
        if job_id is not None:
            if len(self._roles) >= _ROLES_KEPT:
                self._roles.pop(next(iter(self._roles)))
            self._roles[job_id] = roles
        return roles


def _nothing_to_ask(understood: Understood) -> str:
    reasons = "; ".join(f"{role}: {problem}" for role, problem in understood.problems.items())
    return "the row has no title, article number or GTIN to look up by" + (f" ({reasons})" if reasons else "")
