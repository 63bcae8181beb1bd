"""`penstock config show`"""

from collections.abc import Sequence
from typing import Any

import typer
from pydantic import SecretStr

from penstock.config import PREFIX, Settings, origin, setting_fields
from penstock.control.schema import without_password
from penstock.core.loading import extensions_of
from penstock.errors import UsageError
from penstock.extension import Extension
from penstock.terminal.command import accept_global_options, command
from penstock.terminal.output import Column
from penstock.terminal.session import Session


def register(app: typer.Typer) -> None:
    accept_global_options(app)

    @command(app)
    def show(session: Session) -> None:
        """Every setting: its value, where it came from, what it does. Passwords are not shown."""
        try:
            extensions = extensions_of(session.app_reference)
        except UsageError as error:
            session.out.warn(f"Settings of extensions are not shown. {error}")
            extensions = ()
        session.warn_of_unknown_variables(setting_fields(kind for one in extensions for kind in one.settings_found()))
        rows = described(session.settings, session.options.overrides, extensions)
        columns = [
            Column(key="variable", title="setting"),
            Column(key="value", title="value", show=lambda value: "–" if value is None else str(value)),
            Column(key="origin", title="from"),
            Column(key="description", title="what it does"),
        ]
        session.out.table(rows, columns)


def described(settings: Settings, overrides: dict[str, Any], extensions: Sequence[Extension]) -> list[dict[str, Any]]:
    """One row per setting, in the order they are declared; those of extensions come last."""
    kinds = [kind for one in extensions for kind in one.settings_found()]
    values = {Settings: settings} | {kind: settings.of(kind) for kind in kinds}

    return [
        {
            "setting": name,
            "variable": f"{PREFIX}{name.upper()}",
            "value": _shown(getattr(values[kind], own_name)),
            "origin": origin(name, overrides),
            "description": field.description,
        }
        for name, (kind, own_name, field) in setting_fields(values).items()
    ]


def _shown(value: Any) -> Any:
    """Plain values stay what they are in JSON; anything secret is masked."""
    match value:
        case None | bool() | int() | float():
            return value
        case tuple():
            return ",".join(str(one) for one in value) or None
        case SecretStr():
            return without_password(value.get_secret_value())
        case _:
            text = str(value)
            return without_password(text) if "://" in text else text
