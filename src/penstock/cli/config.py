"""`penstock config show`"""

from typing import TYPE_CHECKING, Any

import typer

from penstock.cli.command import accept_global_options, command
from penstock.cli.output import Column
from penstock.cli.session import Session

if TYPE_CHECKING:
    from penstock.config import Settings


def register(app: typer.Typer) -> None:
    accept_global_options(app)

    @command(app)
    def show(session: Session) -> None:
        """Every setting: its value, where it came from, what it does. Passwords are not shown."""
        session.warn_of_unknown_variables()
        rows = described(session.settings, session.options.overrides)
        columns = [
            Column(key="variable", title="setting"),
            Column(key="value", title="value", show=lambda value: "–" if value is None else str(value)),
            Column(key="origin", title="from"),
            Column(key="description", title="what it does"),
        ]
        session.out.table(rows, columns)


def described(settings: "Settings", overrides: dict[str, Any]) -> list[dict[str, Any]]:
    """One row per setting, in the order they are declared."""
    from penstock.config import PREFIX, Settings, origin

    return [
        {
            "setting": name,
            "variable": f"{PREFIX}{name.upper()}",
            "value": _shown(getattr(settings, name)),
            "origin": origin(name, overrides),
            "description": field.description,
        }
        for name, field in Settings.model_fields.items()
    ]


def _shown(value: Any) -> Any:
    """Plain values stay what they are in JSON; anything secret is masked."""
    from pydantic import SecretStr

    from penstock.cli.database import without_password

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
