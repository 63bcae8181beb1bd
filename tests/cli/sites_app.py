"""An application whose analyses need neither network nor models, for the tests of `penstock sites`."""

from penstock import Penstock
from tests.apps import sites_stages

app = Penstock("sites")
sites_stages.install(app)
