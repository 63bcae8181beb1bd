"""What people are told and asked when they bring a list of products, and what a job was submitted with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from penstock.config import Settings
from penstock.core.define import Offer, Option
from penstock.errors import PermanentError
from penstock.extensions.catalogue import http_options
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.extensions.catalogue.understood import ROLES, roles_of, understand

ABOUT = "Looks up every product of a list, or of photos, with the providers, and keeps where each value came from."
# In the order in which they are asked where a job says nothing.
PROVIDERS = ("local", "http")
_ORDER = "Asked from the first to the last until one knows the product. Each further attempt begins with the next one."
PIPELINE = "catalogue"


def offer_of(settings: Callable[[], Settings]) -> Offer:
    """``settings`` are read when somebody looks: an application is declared before it knows them."""

    def options() -> Sequence[Option]:
        ready = configured(settings())
        # The shop of the demonstration is asked only by those who choose it.
        also = () if http_options.shop_options(settings()) is None else (http_options.SHOP,)
        choices = (*ready, *also)
        return (
            Option(
                name="providers", kind="order", label="Providers", help=_ORDER, default=list(ready), choices=choices
            ),
        )

    return Offer(about=ABOUT, roles=ROLES, options=options, roles_of=roles_of, problems_of=problems_of)


def configured(settings: Settings) -> tuple[str, ...]:
    return PROVIDERS if settings.of(CatalogueSettings).http_url is not None else PROVIDERS[:1]


def problems_of(roles: Mapping[str, int], cells: Sequence[str]) -> Iterable[tuple[str | None, str]]:
    """What the handler would say about this row."""
    understood = understand(roles, cells)
    yield from understood.problems.items()
    if not understood.can_be_looked_up:
        yield None, "it has no title, article number or GTIN to look it up by, and would be skipped"


def roles_by_heading(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Role → heading. Never raises: it is for showing."""
    columns = [str(one) for one in metadata.get("columns") or ()]
    given = options_of(metadata).get("roles")
    try:
        return {
            role: columns[at] for role, at in roles_of(columns, given if isinstance(given, Mapping) else None).items()
        }
    except (PermanentError, TypeError):
        return {}


def order_of(metadata: Mapping[str, Any]) -> tuple[list[str], bool]:
    """In which order providers are asked, and whether the job says so."""
    named = options_of(metadata).get("providers")
    if isinstance(named, list) and named:
        return [str(one) for one in named], True
    return list(PROVIDERS), False


def options_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    options = metadata.get("options")
    return options if isinstance(options, Mapping) else {}
