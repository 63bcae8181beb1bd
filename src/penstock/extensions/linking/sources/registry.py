"""The sources that can be asked here."""

from penstock import Penstock
from penstock.control import limits
from penstock.extensions.linking.project import SOURCES
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.sources.reconciliation import Reconciliation
from penstock.extensions.linking.sources.source import Source, SourceMisconfigured
from penstock.extensions.linking.sources.wikidata import SAMPLE, WIKIDATA, Wikidata, sample_source
from penstock.storage.limits import standing

# A pause of a twentieth of a second must not lose what could have been asked meanwhile; a server that counts seconds
# sees no more than that above the rate.
_BURST_SECONDS = 0.05


class Sources:
    """One per process: sources keep their connections, and count their requests."""

    def __init__(self, app: Penstock) -> None:
        self._app = app
        self._made: dict[str, Source] = {}
        self._prepared: set[str] = set()

    def get(self, name: str) -> Source:
        """Raises SourceMisconfigured with the next step."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    @staticmethod
    def batch_size(name: str) -> int:
        """Of one fetch. Known without settings: who makes batches need not be able to ask."""
        return Reconciliation.most_ids if name == Reconciliation.name else Wikidata.most_ids

    async def prepare(self, name: str) -> Source:
        """The source, whose key is limited from now on. A limit that is there stays: a person may have set it with
        `penstock limits set`. After `penstock limits remove` the setting counts again, from the next start on."""
        source = self.get(name)
        if name not in self._prepared:
            async with self._app.connection() as connection:
                known = await standing(connection, source.key)
            if known is None or known.rate is None:
                rate = self._app.settings.of(LinkingSettings).per_second
                burst = max(1, int(rate * _BURST_SECONDS))
                await limits.configure(self._app, source.key, rate, burst, by="record_linking")
            self._prepared.add(name)
        return source

    async def close(self) -> None:
        made, self._made = self._made, {}
        for source in made.values():
            await source.close()

    def _make(self, name: str) -> Source:
        settings = self._app.settings
        if name == WIKIDATA:
            return Wikidata(settings)
        if name == Reconciliation.name:
            return Reconciliation(settings)
        if name == SAMPLE:
            return sample_source(settings)
        raise SourceMisconfigured(f"There is no source {name[:60]!r}. Use {', '.join(SOURCES[:-1])} or {SOURCES[-1]}.")
