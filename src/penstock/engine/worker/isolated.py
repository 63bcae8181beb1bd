"""Handlers that run in a process of their own."""

from typing import Any

from penstock.engine.context import Context
from penstock.engine.definition import StageDefinition


class Children:
    def __init__(self, app_reference: str | None) -> None:
        self._app_reference = app_reference

    async def call(self, definition: StageDefinition, context: Context, values: dict[str, Any]) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        return
