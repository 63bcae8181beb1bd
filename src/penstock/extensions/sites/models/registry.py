"""All models that can be chosen here: the one that comes along, and those of the models file."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from penstock import Penstock
from penstock.extensions.sites.fetch.fetched import SiteProblem
from penstock.extensions.sites.models.model import OFFLINE, Model
from penstock.extensions.sites.models.models_file import Endpoint, read
from penstock.extensions.sites.models.openai import EndpointModel, most_tokens_of
from penstock.insight.record import WIRE

_USUAL_QUESTION_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelView:
    """Prices per million tokens. `ready` is false where it cannot be asked, and `problem` says why, such as a missing
    key. A key is never shown."""

    __pydantic_config__ = WIRE

    name: str
    model: str
    host: str | None
    input_price: float
    output_price: float
    most_per_call: Annotated[float, Field(description="The most that one question of 200 characters may cost.")]
    ready: bool
    problem: str | None


class Models:
    """One per process: models share their connections, circuits and limits of calls at once."""

    def __init__(self, app: Penstock, environment: Mapping[str, str] = os.environ) -> None:
        self._app = app
        self._endpoints = {one.name: one for one in read(app.settings, environment)}
        self._made: dict[str, Model] = {}

    def choose(self, names: Iterable[str]) -> list[Model]:
        """In the order given, each once. Whoever took the order knew the names; a worker that does not know one was
        started with another environment, and trying again would not change that."""
        wanted = list(dict.fromkeys(names))
        for name in wanted:
            if name != OFFLINE and name not in self._endpoints:
                raise SiteProblem(
                    f"The worker does not know the model {name!r}; it knows {', '.join([OFFLINE, *self._endpoints])}. "
                    "The environment of the workers decides: start them again with PENSTOCK_SITES_MODELS_FILE naming a "
                    "file that lists the model, then run the site again."
                )
        return [self._model(name) for name in wanted]

    def listing(self) -> list[ModelView]:
        free = {"input_price": 0.0, "output_price": 0.0, "most_per_call": 0.0}
        offline = ModelView(name=OFFLINE, model=OFFLINE, host=None, ready=True, problem=None, **free)
        return [offline, *map(_view, self._endpoints.values())]

    def most_cost(self, names: Iterable[str], *, questions: int, question_bytes: int) -> float:
        """The most that all these questions may cost, each put to each of the models once. One that is not known here
        is left out."""
        known = [self._endpoints[name] for name in dict.fromkeys(names) if name in self._endpoints]
        return sum(_most_cost(one, questions, question_bytes) for one in known)

    async def close(self) -> None:
        made, self._made = self._made, {}
        for model in made.values():
            await model.close()

    def _model(self, name: str) -> Model:
        if name not in self._made:
            if name == OFFLINE:
                # Reads its weights when it is made: not for somebody who only lists.
                from penstock.extensions.sites.models.offline import OfflineModel

                self._made[name] = OfflineModel()
            else:
                self._made[name] = EndpointModel(self._endpoints[name], self._app)
        return self._made[name]


def _view(endpoint: Endpoint) -> ModelView:
    return ModelView(
        name=endpoint.name,
        model=endpoint.model,
        host=endpoint.host,
        input_price=endpoint.input_price,
        output_price=endpoint.output_price,
        most_per_call=_most_cost(endpoint, 1, _USUAL_QUESTION_BYTES),
        ready=endpoint.problem is None,
        problem=endpoint.problem,
    )


def _most_cost(endpoint: Endpoint, questions: int, question_bytes: int) -> float:
    return endpoint.cost(most_tokens_of(questions, question_bytes), questions * endpoint.max_tokens)
