"""What somebody chose for an analysis; what was left out is as the settings say. Kept with the job."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from penstock.config import Settings
from penstock.extensions.sites.settings import SitesSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``budget`` in the currency of the models' prices, for the whole job. ``review``: prompts wait for a person before
    a model is asked. ``replay``: the pages kept from the last run instead of the network. ``fresh``: models are asked
    again also where an earlier run has their answer."""

    models: tuple[str, ...]
    pages: int
    samples: int
    budget: float
    prompts: int
    review: bool = False
    replay: bool = False
    fresh: bool = False

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "models": list(self.models)}

    def changed(self, given: Mapping[str, Any]) -> "Options":
        known = {name: value for name, value in given.items() if name in self.__slots__ and value is not None}
        if "models" in known:
            known["models"] = tuple(known["models"])
        return replace(self, **known)


def chosen(settings: Settings, given: Mapping[str, Any]) -> Options:
    """The settings, and over them what was given with the job."""
    own = settings.of(SitesSettings)
    usual = Options(
        models=own.models,
        pages=own.pages,
        samples=own.samples,
        budget=own.budget,
        prompts=own.prompts,
    )
    return usual.changed(given)
