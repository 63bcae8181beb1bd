"""What the parts of record linking in one process share."""

from time import monotonic
from typing import Any

from penstock import Penstock
from penstock.core.background import Enqueueable
from penstock.core.enqueue import EnqueueOptions
from penstock.extensions.linking import projects
from penstock.extensions.linking.batching import Batching
from penstock.extensions.linking.project import Options, Project
from penstock.extensions.linking.sources.registry import Sources

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

    def task(self, name: str, **options: Any) -> Enqueueable[Any, Any]:
        return Enqueueable(self.app, self.app.pipelines[name], EnqueueOptions()).options(**options)

    async def close(self) -> None:
        await self.batching.close()
        await self.sources.close()
