"""What the parts of article search in one process share."""

from penstock import Penstock
from penstock.apps.article_search.coverage import Counted
from penstock.apps.article_search.embedders.registry import Embedders
from penstock.apps.article_search.indexing.indexer import Indexer
from penstock.apps.article_search.near import Near


class ArticleSearch:
    """One per process, over an application that article search was installed in."""

    def __init__(self, app: Penstock) -> None:
        self.app = app
        self.embedders = Embedders(app)
        self.indexer = Indexer(app, self.embedders)
        self.near = Near()
        self.counted = Counted()

    async def close(self) -> None:
        await self.indexer.close()
        await self.counted.close()
        await self.near.close()
        await self.embedders.close()
