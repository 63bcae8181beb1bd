"""An application with nothing but article search, for the tests of `penstock articles`."""

from penstock import Penstock
from penstock.apps import article_search

app = Penstock("articles")
article_search.install(app)
