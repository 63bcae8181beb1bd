"""`/api/settings`: what admins change while everything runs."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import Field

from penstock.engine import preferences
from penstock.engine.preferences import LEAST_DAYS, MOST_DAYS, Value
from penstock.service.actor import Actor, Admin, Viewer
from penstock.service.ground import ground_of
from penstock.service.parameters import Flag, Number
from penstock.service.problems import documented
from penstock.service.wire import Wire

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
async def get_settings(request: Request, actor: Viewer) -> SettingsView:
    """The flags for everybody, the rest for admins."""
    ground = ground_of(request)
    async with ground.app.connection() as connection:
        values = await preferences.read(connection, ground.settings)
    return _view(actor, values)


@router.patch("", operation_id="changeSettings")
async def change_settings(request: Request, actor: Admin, wanted: SettingsChange) -> SettingsView:
    """Counts at once in the service, and within a minute for what is removed. Audited."""
    given = {
        **wanted.flags.model_dump(by_alias=True, exclude_unset=True),
        **wanted.retention.model_dump(by_alias=True, exclude_unset=True),
    }
    return _view(actor, await preferences.change(ground_of(request).app, given, by=actor.by))


def _view(actor: Actor, values: dict[str, Value]) -> SettingsView:
    flags = Flags.model_validate({name: values[name].value for name in preferences.FLAGS})
    if not actor.is_admin:
        return SettingsView(flags=flags, features=None, retention=None)
    features = [
        FeatureView(
            name=one.name,
            about=one.about,
            on=bool(one.value),
            default=bool(one.default),
            changed_by=one.changed_by,
            changed_at=one.changed_at,
        )
        for one in values.values()
        if one.name in preferences.FLAGS
    ]
    kept = [
        KeptView(
            name=one.name,
            about=one.about,
            days=one.value,
            default_days=one.default,
            changed_by=one.changed_by,
            changed_at=one.changed_at,
            ignored=one.ignored,
        )
        for one in values.values()
        if one.name not in preferences.FLAGS
    ]
    return SettingsView(flags=flags, features=features, retention=kept)
