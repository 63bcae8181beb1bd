"""The command line. ``main`` is the console script; commands are imported only when they are called."""

import sys
from collections.abc import Sequence
from typing import Any


def main() -> None:
    """Also keeps a Ctrl-C during the imports from becoming a traceback."""
    try:
        from penstock.cli.app import root

        sys.exit(called(root(), sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)


def called(command: Any, arguments: Sequence[str]) -> int:
    """The exit code. What the parser refuses is told here, because the parser itself knows nothing of ``-o json``."""
    from penstock.cli import parsing
    from penstock.errors import UsageError

    try:
        ended = command(parsing.as_meant(arguments), prog_name="penstock", standalone_mode=False)
    except Exception as error:
        if parsing.refused_by_parser(error):
            return parsing.tell(error, arguments)
        if isinstance(error, UsageError):
            return parsing.told(error, arguments)
        raise
    return ended if isinstance(ended, int) else 0
