"""What the runners of the search bench import. Their batches are set by the environment, as a user's would be."""

from penstock.application import Penstock
from penstock.extensions import articles

BATCH_SIZE = "PENSTOCK_ARTICLES_BATCH_SIZE"
AT_ONCE = "PENSTOCK_ARTICLES_BATCHES_AT_ONCE"

app = Penstock("bench")
articles.install(app)
