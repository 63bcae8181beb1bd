"""What a reconciliation service says about itself. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

# Version 0.2 has no field for it; what later versions say is followed within these bounds.
_USUAL_BATCH, _LARGEST_BATCH = 10, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """``proposals_url``: where it names the properties of a type. ``types``: what it knows mostly."""

    batch_size: int
    extends: bool
    proposals_url: str | None
    types: tuple[str, ...]


def manifest_of(data: Any, url: str) -> Manifest | None:
    """None: that is no manifest. Fields that are broken count as not offered."""
    if not isinstance(data, dict) or not ({"versions", "identifierSpace", "schemaSpace"} & data.keys()):
        return None
    extend = data.get("extend")
    size = data.get("batchSize")
    usable = isinstance(size, int) and not isinstance(size, bool) and size >= 1
    given = data.get("defaultTypes")
    types = [one.get("id") for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return Manifest(
        batch_size=min(size, _LARGEST_BATCH) if usable and isinstance(size, int) else _USUAL_BATCH,
        extends=isinstance(extend, dict),
        proposals_url=_proposals(extend, url) if isinstance(extend, dict) else None,
        types=tuple(one for one in types if isinstance(one, str)),
    )


def _proposals(extend: Mapping[str, Any], url: str) -> str | None:
    place = extend.get("propose_properties")
    if not isinstance(place, dict):
        return None
    base, path = place.get("service_url"), place.get("service_path")
    if not isinstance(path, str):
        return None
    return f"{base.rstrip('/')}/{path.lstrip('/')}" if isinstance(base, str) and base else urljoin(url, path)
