"""The shop of `penstock demo` as a provider. Asked only by jobs that name it: what it knows does not exist."""

from dataclasses import replace

from penstock.config import Settings
from penstock.extensions.catalogue.http_options import HttpOptions
from penstock.extensions.catalogue.settings import CatalogueSettings

NAME = "sample"
PATH = "/shop"
_PER_SECOND = 20.0


def options_of(settings: Settings) -> HttpOptions | None:
    """None where `penstock up` does not serve it. Its host is our own loopback, whatever the setting says of others."""
    if settings.sample_url is None:
        return None
    address = {"catalogue_http_url": f"{settings.sample_url}{PATH}?text={{text}}", "catalogue_http_headers": ""}
    paths = {"catalogue_http_paths": CatalogueSettings.model_fields["http_paths"].default}
    made = HttpOptions.of(settings.model_copy(update={**address, **paths}))
    return None if made is None else replace(made, per_second=_PER_SECOND, private_networks=True, cost=0.0)
