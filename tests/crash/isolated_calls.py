"""Calls to isolated handlers as a runner makes them, without a database."""

from datetime import UTC, datetime
from typing import Any

import orjson

from penstock.core.context import Context
from penstock.core.define import StageDefinition
from penstock.core.run import RunningStage
from penstock.core.stage import Stage
from penstock.errors import ThrottledError
from penstock.model import Claimed
from tests.crash.isolated_app import app

APP = "tests.crash.isolated_app:app"


class Told:
    """Surroundings that keep what they were told."""

    in_process: Any

    def __init__(self) -> None:
        self.progress_told: list[tuple[float, float | None, str]] = []

    def limiter(self, key: str) -> Any:
        raise NotImplementedError

    def transaction(self, context: Context) -> Any:
        raise NotImplementedError

    async def begin(self, claimed: Claimed) -> None:
        """Every lease is current here."""

    async def throttled(self, error: ThrottledError) -> None:
        """There is no limiter."""

    def progress(self, claimed: Claimed, done: float, total: float | None, note: str) -> None:
        self.progress_told.append((done, total, note))


def definition_of(pipeline: str, stage: str | None = None) -> StageDefinition:
    return next(one for one in app.pipelines[pipeline].stages if one.name == (stage or pipeline))


def claimed_of(values: str = "{}", *, attempt: int = 0) -> Claimed:
    return Claimed.of(
        task_id=41,
        lease=1_000_007,
        stage=1,
        lane=1,
        attempt=attempt,
        max_attempts=5,
        crashes=0,
        run=2,
        run_at=datetime.now(UTC),
        input=values,
        job_id=9,
        options=None,
        idempotency_key=None,
        trace="00-abc-def-01",
    )


def context_of(values: str = "{}", surroundings: Told | None = None) -> Context:
    return Context(claimed_of(values), surroundings or Told())


def stored(values: dict[str, Any]) -> str:
    return orjson.dumps(values).decode()


def running_stage(children: Any, definition: StageDefinition, *, max_result_bytes: int = 10_000) -> RunningStage:
    runtime = Told()
    runtime.in_process = children.call
    stage = Stage(
        id=1,
        definition=definition,
        previous_stage=definition.position or None,
        pool=1,
        timeout_seconds=300,
        max_result_bytes=max_result_bytes,
    )
    return RunningStage(stage, runtime)
