"""A stage as a worker serves it: what was declared, with what the settings and its neighbours add. It never changes;
what changes while it runs is in :class:`penstock.core.run.RunningStage`."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from penstock.config import Settings
from penstock.core.define import PipelineDefinition, StageDefinition
from penstock.core.tracing import tracing_enabled
from penstock.errors import NotKnown
from penstock.storage.checkpoints import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """``hashed``: whether the next stage compares what this one hands it."""

    id: int
    definition: StageDefinition
    # The stage whose result it works on.
    previous_stage: int | None = None
    next_stage: int | None = None
    pool: int
    timeout_seconds: float
    max_result_bytes: int
    max_attempts_not_found: int = 3
    # How long a task whose input does not fit the handler waits for another release.
    skew_seconds: float = 0.0
    # Of what makes its result: the code, and the stage its input comes from, as a pipeline may lose one.
    version: str | None = None
    hashed: bool = False

    @property
    def first(self) -> bool:
        return self.previous_stage is None

    @property
    def origin(self) -> Origin:
        return Origin(self.previous_stage, self.version)

    @property
    def needs_context(self) -> bool:
        """A handler that does not ask for ``ctx`` does not pay for one."""
        return self.definition.arguments.takes_context or self.definition.execution == "process" or tracing_enabled()

    @property
    def label(self) -> str:
        definition = self.definition
        return definition.name if definition.pipeline == definition.name else f"{definition.pipeline}/{definition.name}"


def served_stages(
    pipelines: Iterable[PipelineDefinition],
    ids: Mapping[tuple[str, str], int],
    settings: Settings,
    only: Collection[str] = (),
) -> list[Stage]:
    """As they are served: by their ``order``, which is the place in the pipeline where a stage does not say it;
    of equal ones the pipeline that was declared first.

    ``only`` names pipelines (or pipeline/stage) to serve; an unknown name is an error, so that a typing mistake does
    not make a worker that serves nothing.
    """
    found: list[Stage] = []
    known: set[str] = set()
    for pipeline in pipelines:
        for position, definition in enumerate(pipeline.stages):
            label = f"{pipeline.name}/{definition.name}"
            known |= {pipeline.name, label}
            if only and pipeline.name not in only and label not in only:
                continue
            before = pipeline.stages[position - 1] if position else None
            following = pipeline.stages[position + 1] if position + 1 < len(pipeline.stages) else None
            found.append(
                Stage(
                    id=ids[pipeline.name, definition.name],
                    definition=definition,
                    previous_stage=None if before is None else ids[pipeline.name, before.name],
                    next_stage=None if following is None else ids[pipeline.name, following.name],
                    pool=definition.pool or settings.pool_size,
                    timeout_seconds=definition.timeout_seconds or settings.timeout_seconds,
                    max_result_bytes=settings.max_result_bytes,
                    max_attempts_not_found=settings.max_attempts_not_found,
                    skew_seconds=settings.version_skew_days * 86_400,
                    version=_version(definition, before),
                    hashed=following is not None and following.version is not None,
                )
            )
    if missing := set(only) - known:
        raise NotKnown(kind="stage", name=sorted(missing)[0], known=known)
    return sorted(found, key=lambda stage: stage.definition.served)


def _version(definition: StageDefinition, before: StageDefinition | None) -> str | None:
    if definition.version is None or before is None:
        return definition.version
    return f"{definition.version}, after {before.name}"
