"""The application that the command line's tests steer. Handlers do what their arguments say."""

import asyncio
from typing import Any

from penstock import Context, Penstock, PermanentError


def make() -> Penstock:
    """A fresh one per test: an application belongs to the event loop that opened it."""
    app = Penstock("shop")

    @app.task()
    async def greet(name: str) -> str:
        return f"hello {name}"

    @app.task(max_attempts=1)
    async def fail(kind: str = "broken", fixed: bool = False) -> str:
        if fixed:
            return "fine now"
        raise PermanentError(f"it is {kind}")

    @app.task()
    async def sleep(ctx: Context, seconds: float = 60) -> None:
        await asyncio.sleep(seconds)

    two = app.pipeline("two")

    @two.stage()
    async def first(number: int) -> dict[str, Any]:
        return {"doubled": number * 2}

    @two.stage()
    async def second(before: dict[str, Any]) -> int:
        return int(before["doubled"]) + 1

    return app


app = make()
