"""What `penstock demo` has made, by the names it gave, so that it makes nothing twice and takes exactly that away."""

from typing import TYPE_CHECKING

from penstock.storage import preferences

if TYPE_CHECKING:
    from penstock.application import Penstock

_NAME = "demo"


class Ledger:
    """Kept beside the settings that admins change, under a name that is none of them."""

    def __init__(self, app: "Penstock") -> None:
        self._app = app

    async def read(self) -> dict[str, int]:
        async with self._app.connection() as connection:
            stored = (await preferences.all_stored(connection)).get(_NAME)
        return {} if stored is None else dict(stored.value)

    async def note(self, name: str, number: int, *, by: str) -> None:
        noted = await self.read() | {name: number}
        async with self._app.connection() as connection:
            await preferences.put(connection, _NAME, noted, changed_by=by)

    async def close(self) -> None:
        async with self._app.connection() as connection:
            await preferences.remove(connection, _NAME)
