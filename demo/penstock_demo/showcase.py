"""What `penstock up` and `penstock serve` run when no application is named: the installed extensions, and a shop."""

from penstock.application import Penstock
from penstock.extension import discovered
from penstock_demo import shop


def make() -> Penstock:
    """Under a name of its own: an application that somebody left without one is called "penstock"."""
    made = Penstock("showcase")
    shop.install(made)

    @made.task(name="sample_places")
    async def sample_places() -> str | None:
        """Where `penstock up` serves what the demonstration asks: only its workers know."""
        return made.settings.sample_url

    for extension in discovered():
        made.install(extension)
    return made


app = make()
