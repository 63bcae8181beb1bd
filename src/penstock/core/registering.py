"""Stores the stages that an application declares, under the name of the application.

Whoever runs tasks does so when it is opened. A service and a command only store tasks for others to run, perhaps with
an application that nobody runs on this database: they register a pipeline together with its first task.
"""

from typing import Any

from penstock.core.app import App
from penstock.core.define import PipelineDefinition, is_internal
from penstock.storage import stages
from penstock.storage.stages import Declared

Connection = Any


async def register(app: App, connection: Connection) -> None:
    """All stages of it."""
    for pipeline in app.pipelines.values():
        app.stage_ids |= await register_pipeline(app, connection, pipeline)


async def register_pipeline(
    app: App, connection: Connection, pipeline: PipelineDefinition
) -> dict[tuple[str, str], int]:
    """The ids of its stages. Raises :class:`PipelineTaken` where it belongs to another application."""
    declared = [
        Declared(
            name=stage.name,
            position=stage.position,
            max_attempts=stage.max_attempts or app.settings.max_attempts_error,
            max_running=stage.max_running,
            policy=stage.policy(),
        )
        for stage in pipeline.stages
    ]
    ids = await stages.register(connection, pipeline.name, declared, owner_of(app, pipeline))
    return {(pipeline.name, name): stage_id for name, stage_id in ids.items()}


def owner_of(app: App, pipeline: PipelineDefinition) -> str | None:
    """The application a pipeline belongs to. An extension runs the same code in every application that installs it, so
    they share its pipelines; Penstock's own tasks belong to nobody."""
    return None if is_internal(pipeline.name) else pipeline.owner or app.name


async def read(app: App, connection: Connection) -> None:
    """What others registered of it."""
    owners = {name: owner_of(app, pipeline) for name, pipeline in app.pipelines.items()}
    app.stage_ids |= await stages.ids(connection, owners)


async def first_stage(app: App, connection: Connection, pipeline: PipelineDefinition) -> int:
    """The id of the stage that takes new tasks, registered on ``connection`` if nobody has done so. 0 for a task that
    is not declared here: the database knows it by its name, or refuses it. Raises :class:`PipelineTaken`."""
    if not pipeline.stages:
        return 0
    place = (pipeline.name, pipeline.first.name)
    if (known := app.stage_ids.get(place)) is not None:
        return known
    found = await stages.ids(connection, {pipeline.name: owner_of(app, pipeline)})
    if place not in found:
        found = await register_pipeline(app, connection, pipeline)
    # The caller's transaction may be taken back, and the stages with it.
    if not connection.is_in_transaction():
        app.stage_ids |= found
    return found[place]


async def ensure(app: App, pipeline: PipelineDefinition) -> None:
    """For a task that is stored on a connection of another driver."""
    if pipeline.stages and (pipeline.name, pipeline.first.name) not in app.stage_ids:
        async with app.connection() as connection:
            await first_stage(app, connection, pipeline)
