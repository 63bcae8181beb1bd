"""What is to be found: a record, read by the roles of its columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """``types``: ids of the source (Q5), any of them will do. ``properties``: what the record says under a property of
    the source (P569), as it stands in the file; several values where a cell holds several."""

    name: str
    aliases: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)
    types: tuple[str, ...] = ()
    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
