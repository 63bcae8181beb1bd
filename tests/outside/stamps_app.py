"""An application with an extension that no package announces."""

from pydantic import Field

from penstock import Extension, Penstock
from penstock.config import ExtensionSettings


class StampsSettings(ExtensionSettings, env_prefix="PENSTOCK_STAMPS_"):
    most: int = Field(3, description="Most stamps on a letter.")


app = Penstock("stamps-shop")
app.install(Extension(name="stamps", settings=StampsSettings))
