"""An application whose analyses need neither network nor models, for the tests of `penstock sites`."""

from penstock import Penstock
from tests.extensions import sites_stages

app = Penstock("sites")
app.install(sites_stages.extension)
