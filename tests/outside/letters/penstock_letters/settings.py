from pydantic import Field

from penstock.config import ExtensionSettings


class LettersSettings(ExtensionSettings, env_prefix="PENSTOCK_LETTERS_"):
    greeting: str = Field("Dear", description="How letters begin.")
