"""An application with nothing but record linking, for the tests of `penstock link`."""

from penstock import Penstock
from penstock.apps import record_linking

app = Penstock("linking")
record_linking.install(app)
