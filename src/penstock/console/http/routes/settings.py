"""`/api/settings`: what admins change while everything runs."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from penstock.console.http.actor import Actor, Admin, Viewer
from penstock.console.http.ground import Here
from penstock.console.http.parameters import Flag, Number
from penstock.console.http.problems import documented
from penstock.console.http.wire import Wire
from penstock.control import preferences
from penstock.control.preferences import LEAST_DAYS, MOST_DAYS, Value

router = APIRouter(prefix="/api/settings", tags=["settings"], responses=documented())

Days = Annotated[Number, Field(ge=LEAST_DAYS, le=MOST_DAYS)]


class Flags(Wire):
    pending_page: bool


class FeatureView(Wire):
    name: str
    about: str
    on: bool
    default: bool = Field(description="What the environment says.")
    changed_by: str | None
    changed_at: datetime | None


class KeptView(Wire):
    name: str
    about: str
    days: float | None = Field(description="Null: for ever.")
    default_days: float | None = Field(description="What counts when the change is taken back.")
    least_days: float = LEAST_DAYS
    most_days: float = MOST_DAYS
    changed_by: str | None
    changed_at: datetime | None
    ignored: str | None = Field(description="What is stored and cannot be, with why; the default counts.")


class SettingsView(Wire):
    flags: Flags
    features: list[FeatureView] | None = Field(description="For admins.")
    retention: list[KeptView] | None = Field(description="For admins.")


class FlagsChange(Wire):
    pending_page: Flag | None = None


class RetentionChange(Wire):
    ended_items_days: Days | None = None
    dead_letters_days: Days | None = None
    audit_days: Days | None = None


class SettingsChange(Wire):
    """What is left out stays; null takes a change back."""

    flags: FlagsChange = FlagsChange()
    retention: RetentionChange = RetentionChange()


@router.get("", operation_id="settings")
async def get_settings(ground: Here, actor: Viewer) -> SettingsView:
    """The flags for everybody, the rest for admins."""
    async with ground.app.connection() as connection:
        values = await preferences.read(connection, ground.settings)
    return _view(actor, values)


@router.patch("", operation_id="changeSettings")
async def change_settings(ground: Here, actor: Admin, wanted: SettingsChange) -> SettingsView:
    """Counts at once in the service, and within a minute for what is removed. Audited."""
    given = {
        **wanted.flags.model_dump(by_alias=True, exclude_unset=True),
        **wanted.retention.model_dump(by_alias=True, exclude_unset=True),
    }
    return _view(actor, await preferences.change(ground.app, given, by=actor.by))


def _view(actor: Actor, values: dict[str, Value]) -> SettingsView:
    flags = Flags.model_validate({name: values[name].value for name in preferences.FLAGS})
    if not actor.is_admin:
        return SettingsView(flags=flags, features=None, retention=None)
    features, kept = [], []
    for one in values.values():
        if one.name in preferences.FLAGS:
            features.append(FeatureView.from_record(one, on=bool(one.value), default=bool(one.default)))
        else:
            kept.append(KeptView.from_record(one, days=one.value, default_days=one.default))
    return SettingsView(flags=flags, features=features, retention=kept)
