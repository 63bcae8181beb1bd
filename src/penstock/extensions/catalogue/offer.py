"""What people are told and asked when they bring a list of products."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from penstock.config import Settings
from penstock.core.offer import Offer, Option
from penstock.extensions.catalogue import sample_provider
from penstock.extensions.catalogue.columns import ROLES, roles_of
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.extensions.catalogue.understood import understand

ABOUT = "Looks up every product of a list, or of photos, with the providers, and keeps where each value came from."
# In the order in which they are asked where a job says nothing.
PROVIDERS = ("local", "http")
_ORDER = "Asked from the first to the last until one knows the product. Each further attempt begins with the next one."


def offer_of(settings: Callable[[], Settings]) -> Offer:
    """``settings`` are read when somebody looks: an application is declared before it knows them."""

    def options() -> Sequence[Option]:
        ready = configured(settings())
        # The shop of the demonstration is asked only by those who choose it.
        also = () if sample_provider.options_of(settings()) is None else (sample_provider.NAME,)
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
