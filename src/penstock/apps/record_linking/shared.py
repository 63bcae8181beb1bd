"""What the parts of record linking in one process share."""

import hashlib
from collections.abc import Sequence
from time import monotonic
from typing import Any

import orjson

from penstock import Penstock
from penstock.apps.record_linking import projects
from penstock.apps.record_linking.batching import Batching
from penstock.apps.record_linking.names import FETCH, SCORE, SEARCH, WATCH
from penstock.apps.record_linking.project import LIKE_WIKIDATA, Options, Project
from penstock.apps.record_linking.sources.registry import Sources
from penstock.engine.background import Enqueueable
from penstock.engine.enqueue import EnqueueOptions

# How long a task may go by what was read of its project; what it writes is checked against what is there then.
_LATELY_SECONDS = 1.0


class Lately:
    """Projects as they were a moment ago: ten thousand searches need not read theirs ten thousand times."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._read: dict[int, tuple[float, Project | None]] = {}

    async def read(self, project_id: int, run: int) -> Project | None:
        """None: gone, or not in that run."""
        read_at, project = self._read.get(project_id, (-_LATELY_SECONDS, None))
        if project is None or project.run != run or monotonic() - read_at > _LATELY_SECONDS:
            async with self._app.connection() as connection:
                project = await projects.get(connection, project_id)
            self._read = {id: one for id, one in self._read.items() if monotonic() - one[0] <= _LATELY_SECONDS}
            self._read[project_id] = (monotonic(), project)
        return project if project is not None and project.run == run else None


class RecordLinking:
    """One per process, over an application that record linking was installed in."""

    def __init__(self, app: Penstock) -> None:
        self.app = app
        self.sources = Sources(app)
        self.batching = Batching(self)
        self.lately = Lately(app)

    def options_of(self, project: Project) -> Options:
        return Options.of(project.options, self.app.settings)

    @property
    def search(self) -> Enqueueable[Any, Any]:
        return self._task(SEARCH)

    @property
    def fetch(self) -> Enqueueable[Any, Any]:
        return self._task(FETCH)

    @property
    def score(self) -> Enqueueable[Any, Any]:
        return self._task(SCORE)

    @property
    def watch(self) -> Enqueueable[Any, Any]:
        return self._task(WATCH)

    async def close(self) -> None:
        await self.batching.close()
        await self.sources.close()

    def _task(self, name: str) -> Enqueueable[Any, Any]:
        return Enqueueable(self.app, self.app.pipelines[name], EnqueueOptions())


def asked_types(project: Project, options: Options) -> tuple[str, ...]:
    """What the source is asked for, in one order. Wikidata's search does not know types: its answers are for all."""
    return () if project.source in LIKE_WIKIDATA else tuple(sorted(set(options.types)))


def types_key(types: Sequence[str]) -> str:
    """Under which types an answer is cached, of what the source was really asked. As short for many types as for one:
    it is part of a key of the database, which has a bound."""
    return hashlib.sha256(orjson.dumps(list(types))).hexdigest() if types else ""
