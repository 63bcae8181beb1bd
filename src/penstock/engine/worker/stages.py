"""The stages of an application as a runner serves them."""

from collections.abc import Collection, Iterable
from typing import Any

from penstock.config import Settings
from penstock.engine.app import Penstock
from penstock.engine.definition import StageDefinition
from penstock.engine.run import LiveStage
from penstock.errors import NotKnown


async def _never(*_: Any) -> Any:
    raise RuntimeError("the runner sets how a handler is called")


def live_stages(app: Penstock, settings: Settings, only: Collection[str] = ()) -> list[LiveStage]:
    """As they are served: by their ``order``, which is the place in the pipeline where a stage does not say it;
    of equal ones the pipeline that was declared first.

    ``only`` names pipelines (or pipeline/stage) to serve; an unknown name is an error, so that a typing mistake does
    not make a worker that serves nothing.
    """
    found: list[LiveStage] = []
    known: set[str] = set()
    for pipeline in app.pipelines.values():
        for position, definition in enumerate(pipeline.stages):
            label = f"{pipeline.name}/{definition.name}"
            known |= {pipeline.name, label}
            if only and pipeline.name not in only and label not in only:
                continue
            following = pipeline.stages[position + 1] if position + 1 < len(pipeline.stages) else None
            before = pipeline.stages[position - 1] if position else None
            found.append(
                LiveStage(
                    id=app.stage_ids[(pipeline.name, definition.name)],
                    definition=definition,
                    next_stage=None if following is None else app.stage_ids[(pipeline.name, following.name)],
                    first=position == 0,
                    call=_never,
                    pool=definition.pool or settings.pool_size,
                    timeout_seconds=definition.timeout_seconds or settings.timeout_seconds,
                    max_result_bytes=settings.max_result_bytes,
                    max_attempts_not_found=settings.max_attempts_not_found,
                    skew_seconds=settings.version_skew_days * 86_400,
                    previous_stage=None if before is None else app.stage_ids[(pipeline.name, before.name)],
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


def slot_count(stages: Iterable[LiveStage]) -> int:
    return sum(stage.pool for stage in stages)
