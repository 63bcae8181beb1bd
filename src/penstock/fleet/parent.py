"""What a process of the fleet owes to the one that started it. Imports little: every child starts with it."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Linux kills this process when its parent dies, even while a handler holds the GIL: nobody would keep its leases
    alive."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def leave_signals_to_the_parent(*others: signal.Signals) -> None:
    """Ctrl-C and a service manager's SIGTERM reach the whole group; only the parent decides.

    Handlers that do nothing and not SIG_IGN, which programs started by a handler would inherit: nobody could end them
    politely."""
    for number in (signal.SIGINT, signal.SIGTERM, *others):
        signal.signal(number, lambda *_: None)
