"""What the parts of record linking in one process share."""

from time import monotonic
from typing import Any

from penstock import Penstock
from penstock.control import limits
from penstock.core.background import Enqueueable
from penstock.core.enqueue import EnqueueOptions
from penstock.extensions.linking import projects
from penstock.extensions.linking.fetching import Batching
from penstock.extensions.linking.project import SOURCES, Options, Project
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.sources.reconciliation import Reconciliation
from penstock.extensions.linking.sources.source import Source, SourceMisconfigured
from penstock.extensions.linking.sources.wikidata import SAMPLE, WIKIDATA, Wikidata, sample_source
from penstock.storage.limits import standing

# How long a task may go by what was read of its project; what it writes is checked against what is there then.
_LATELY_SECONDS = 1.0
# A pause of a twentieth of a second must not lose what could have been asked meanwhile; a server that counts seconds
# sees no more than that above the rate.
_BURST_SECONDS = 0.05


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

    def task(self, name: str, **options: Any) -> Enqueueable[Any, Any]:
        return Enqueueable(self.app, self.app.pipelines[name], EnqueueOptions()).options(**options)

    async def close(self) -> None:
        await self.batching.close()
        await self.sources.close()


class Sources:
    """One per process: sources keep their connections, and count their requests."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._made: dict[str, Source] = {}
        self._prepared: set[str] = set()

    def get(self, name: str) -> Source:
        """Raises SourceMisconfigured with the next step."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    @staticmethod
    def batch_size(name: str) -> int:
        """Of one fetch. Known without settings: who makes batches need not be able to ask."""
        return Reconciliation.most_ids if name == Reconciliation.name else Wikidata.most_ids

    async def prepare(self, name: str) -> Source:
        """The source, whose key is limited from now on. A limit that is there stays: a person may have set it with
        `penstock limits set`. After `penstock limits remove` the setting counts again, from the next start on."""
        source = self.get(name)
        if name not in self._prepared:
            async with self._app.connection() as connection:
                known = await standing(connection, source.key)
            if known is None or known.rate is None:
                rate = self._app.settings.of(LinkingSettings).per_second
                burst = max(1, int(rate * _BURST_SECONDS))
                await limits.configure(self._app, source.key, rate, burst, by="record_linking")
            self._prepared.add(name)
        return source

    async def close(self) -> None:
        made, self._made = self._made, {}
        for source in made.values():
            await source.close()

    def _make(self, name: str) -> Source:
        settings = self._app.settings
        if name == WIKIDATA:
            return Wikidata(settings)
        if name == Reconciliation.name:
            return Reconciliation(settings)
        if name == SAMPLE:
            return sample_source(settings)
        raise SourceMisconfigured(f"There is no source {name[:60]!r}. Use {', '.join(SOURCES[:-1])} or {SOURCES[-1]}.")
