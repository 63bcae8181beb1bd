"""All models that can be chosen here: the one that comes along, and those of the models file."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock import Penstock
from penstock.apps.website_analysis.models.endpoint import Endpoint
from penstock.apps.website_analysis.models.model import OFFLINE, Model
from penstock.apps.website_analysis.models.models_file import read
from penstock.apps.website_analysis.models.openai import EndpointModel
from penstock.apps.website_analysis.models.reply import most_tokens_of
from penstock.apps.website_analysis.problem import SiteProblem

_USUAL_QUESTION_BYTES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelView:
    """A model as people see it. Prices per million tokens; ``most_per_call``: the most that a question of usual length
    may cost; ``problem``: why it cannot be asked."""

    name: str
    model: str
    host: str | None
    input_price: float
    output_price: float
    most_per_call: float
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
                raise SiteProblem(self._strange(name))
        return [self._model(name) for name in wanted]

    def listing(self) -> list[ModelView]:
        free = {"input_price": 0.0, "output_price": 0.0, "most_per_call": 0.0}
        offline = ModelView(name=OFFLINE, model=OFFLINE, host=None, problem=None, **free)
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
            self._made[name] = self._make(name)
        return self._made[name]

    def _strange(self, name: str) -> str:
        return (
            f"The worker does not know the model {name!r}; it knows {', '.join([OFFLINE, *self._endpoints])}. The "
            "environment of the workers decides: start them again with PENSTOCK_SITES_MODELS_FILE naming a file that "
            "lists the model, then run the site again."
        )

    def _make(self, name: str) -> Model:
        if name != OFFLINE:
            return EndpointModel(self._endpoints[name], self._app)
        # Reads its weights when it is made: not for somebody who only lists.
        from penstock.apps.website_analysis.models.offline import OfflineModel

        return OfflineModel()


def _view(endpoint: Endpoint) -> ModelView:
    return ModelView(
        name=endpoint.name,
        model=endpoint.model,
        host=endpoint.host,
        input_price=endpoint.input_price,
        output_price=endpoint.output_price,
        most_per_call=_most_cost(endpoint, 1, _USUAL_QUESTION_BYTES),
        problem=endpoint.problem,
    )


def _most_cost(endpoint: Endpoint, questions: int, question_bytes: int) -> float:
    return endpoint.cost(most_tokens_of(questions, question_bytes), questions * endpoint.max_tokens)
