"""An application with the extension that pip installed, and with no other."""

from penstock import Penstock
from penstock.extension import discovered

app = Penstock("letters-shop")
app.install(next(one for one in discovered() if one.name == "letters"))
