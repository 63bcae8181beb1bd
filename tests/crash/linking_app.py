"""Record linking as its workers run it."""

from penstock import Penstock
from penstock.apps import record_linking

app = Penstock("linking")
linking = record_linking.install(app)
