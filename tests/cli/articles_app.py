"""An application with nothing but article search, for the tests of `penstock articles`."""

from penstock import Penstock
from penstock.extensions import articles

app = Penstock("articles")
articles.install(app)
