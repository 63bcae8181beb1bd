"""An application with nothing but record linking, for the tests of `penstock link`."""

from penstock import Penstock
from penstock.extensions import linking

app = Penstock("linking")
linking.install(app)
