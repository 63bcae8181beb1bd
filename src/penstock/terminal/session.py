"""What a command works with: settings, output, and an application that is opened when it is first needed."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.terminal.options import Options
from penstock.terminal.output import Output

if TYPE_CHECKING:
    from penstock.application import Penstock
    from penstock.config import Settings
    from penstock.events import Event


class Session:
    """Reading commands need no application module: ``app()`` gives one without tasks on the same database. ``module``:
    where the command stands; one of an extension needs its tables."""

    def __init__(self, options: Options, module: str = "") -> None:
        self.options = options
        self._module = module
        self.out = Output(json=options.json, quiet=bool(options.quiet))
        self._app: Penstock | None = None
        self._decided: list[Event] = []

    @property
    def settings(self) -> "Settings":
        return self.options.settings

    @cached_property
    def app_reference(self) -> str | None:
        return self.settings.app

    def warn_of_unknown_variables(self, further: Iterable[str] = ()) -> None:
        """A mistyped setting would otherwise be silently without effect. ``further``: settings of extensions that are
        passed to the application."""
        from penstock.config import setting_fields, unknown_variables
        from penstock.extension import declared_settings

        if not unknown_variables(further=further):  # without reading what is installed on this machine
            return
        for one in unknown_variables(further=(*setting_fields(declared_settings()), *further)):
            self.out.warn(f"{one.sentence}. {one.next_step}")

    async def app(self, *, declared: bool = False) -> "Penstock":
        """Open, once per command. ``declared``: the user's own with its tasks, from --app or PENSTOCK_APP."""
        if self._app is None:
            self.warn_of_unknown_variables()
            self._app = self._declared(self.app_reference) if declared else self._plain()
            self.note_decisions_of(self._app)
            await self._app.open()
        return self._app

    async def serving_app(self) -> "Penstock":
        """The user's own, or all that ships with Penstock; able to take files in. Its workers register its stages."""
        from penstock.console.files import importing
        from penstock.terminal.served import BUILT_IN

        self._app = self._declared(self.app_reference or BUILT_IN)
        importing.install(self._app)
        await self._app.open()
        return self._app

    def _plain(self) -> "Penstock":
        from penstock.application import Penstock
        from penstock.core.loading import migrations_for

        app = Penstock("cli", settings=self.settings)
        if not self._module.startswith("penstock.cli."):
            app.migrations = migrations_for(self._module)
        return app

    def _declared(self, reference: str | None) -> "Penstock":
        from penstock.application import Penstock
        from penstock.core.loading import load_app
        from penstock.errors import UsageError
        from penstock.events import Events

        if reference is None:
            raise UsageError("No application was named. Pass --app module:name, or set PENSTOCK_APP.")
        app = load_app(reference)
        assert isinstance(app, Penstock)
        app.use(self.settings, Events(), registers=False)
        return app

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection to the migrated database, for the views of ``penstock.insight``."""
        async with (await self.app()).connection() as connection:
            yield connection

    async def close(self) -> None:
        app, self._app = self._app, None
        if app is not None:
            try:
                await self._note(app)
            finally:
                await app.close()

    def note_decisions_of(self, app: "Penstock") -> None:
        """Also those of an application that a command opens beside the session's own."""
        app.events.add(self._on_event)

    def _on_event(self, event: "Event") -> None:
        """Everything that somebody decides is an event that names them."""
        if "by" in event.data:
            self._decided.append(event)

    async def _note(self, app: "Penstock") -> None:
        """What was decided by this command belongs into the audit log as what is decided over HTTP does."""
        decided, self._decided = self._decided, []
        if decided:
            from penstock.control import acting

            await acting.note_events(app, acting.By.command_line(), decided)
