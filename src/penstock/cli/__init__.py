"""The command line. ``main`` is the console script; commands are imported only when they are called."""

import sys


def main() -> None:
    """Also keeps a Ctrl-C during the imports from becoming a traceback."""
    try:
        from penstock.cli.app import root

        root()(prog_name="penstock")
    except KeyboardInterrupt:
        sys.exit(130)
