"""`penstock version`"""

import platform

import typer

from penstock.terminal.command import command
from penstock.terminal.session import Session


def register(app: typer.Typer) -> None:
    @command(app)
    def version(session: Session) -> None:
        """Print the version of Penstock, and of what it runs on."""
        from penstock.version import VERSION

        data = {
            "penstock": VERSION,
            "python": platform.python_version(),
            "system": platform.platform(terse=True),
        }
        session.out.show(data, f"penstock {VERSION} (Python {data['python']}, {data['system']})")
