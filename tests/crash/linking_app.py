"""Record linking as its workers run it."""

from penstock import Penstock
from penstock.extensions import linking as record_linking

app = Penstock("linking")
linking = record_linking.install(app)
