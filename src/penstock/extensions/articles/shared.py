"""What the parts of article search in one process share."""

from penstock import Penstock
from penstock.extensions.articles.settings import ArticleSettings
from penstock.insight.record import WIRE


class WireRecord:
    """A record that the HTTP API answers as it is."""

    __slots__ = ()
    __pydantic_config__ = WIRE


class ArticleSearch:
    """One per process, over an application that article search was installed in."""

    def __init__(self, app: Penstock) -> None:
        # They bring numpy, which commands that only look, and functions that are only handed one of these, do without.
        from penstock.extensions.articles.embedders.registry import Embedders
        from penstock.extensions.articles.indexing.indexer import Indexer
        from penstock.extensions.articles.near import Near
        from penstock.extensions.articles.statistics import Counted

        self.app = app
        self.embedders = Embedders(app)
        self.indexer = Indexer(app, self.embedders)
        self.near = Near()
        self.counted = Counted(app)

    @property
    def settings(self) -> ArticleSettings:
        return self.app.settings.of(ArticleSettings)

    async def close(self) -> None:
        await self.indexer.close()
        await self.counted.close()
        await self.near.close()
        await self.embedders.close()
