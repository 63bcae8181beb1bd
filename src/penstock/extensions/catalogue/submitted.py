"""What a job was submitted with, as its handler will understand it. Never raises: it is for showing."""

from collections.abc import Mapping
from typing import Any

from penstock.errors import PermanentError
from penstock.extensions.catalogue.columns import roles_of
from penstock.extensions.catalogue.offer import PROVIDERS


def roles_by_heading(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Role → heading."""
    columns = [str(one) for one in metadata.get("columns") or ()]
    given = _options(metadata).get("roles")
    try:
        return {
            role: columns[at] for role, at in roles_of(columns, given if isinstance(given, Mapping) else None).items()
        }
    except (PermanentError, TypeError):
        return {}


def order_of(metadata: Mapping[str, Any]) -> tuple[list[str], bool]:
    """In which order providers are asked, and whether the job says so."""
    named = _options(metadata).get("providers")
    if isinstance(named, list) and named:
        return [str(one) for one in named], True
    return list(PROVIDERS), False


def _options(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    options = metadata.get("options")
    return options if isinstance(options, Mapping) else {}
