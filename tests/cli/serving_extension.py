"""An extension, as the service has one: declares a task in whatever application is run."""

import os

from penstock import Penstock

NOT_A_FUNCTION = 7


def install(app: Penstock) -> None:
    @app.task(name="extended")
    async def extended() -> str:
        return app.name

    @app.task(name="extended.isolated", isolated=True)
    def isolated() -> int:
        return os.getpid()
