"""``python -m penstock.cli``: the same as the console script, for an interpreter without one."""

from penstock.cli import main

main()
