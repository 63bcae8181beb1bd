"""For people who test code that uses Penstock, and for those who want to see it survive.

    drain, inline                         run what was enqueued, in the process of the test
    assert_enqueued, assert_not_enqueued  what was enqueued
    RecordingDispatcher                   a JobDispatcher that only remembers
    WorkerTree, Proxy                     workers to kill and freeze, a link to cut
    Ledger, Pen                           what really ran, written down twice

The fixtures of ``penstock.testing.pytest_plugin`` come with the package: ``penstock_database``, ``penstock_workers``
and ``penstock_proxy``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.testing.assertions import assert_enqueued, assert_not_enqueued
    from penstock.testing.dispatching import Dispatched, RecordingDispatcher
    from penstock.testing.draining import Drained, drain, inline
    from penstock.testing.ledger import Audit, Ledger, Pen
    from penstock.testing.processes import NotInTime, WorkerTree
    from penstock.testing.proxy import Proxy

__all__ = [
    "Audit",
    "Dispatched",
    "Drained",
    "Ledger",
    "NotInTime",
    "Pen",
    "Proxy",
    "RecordingDispatcher",
    "WorkerTree",
    "assert_enqueued",
    "assert_not_enqueued",
    "drain",
    "inline",
]

# Imported when they are first used: pytest loads the plugin of this package in every run, also in those that use
# nothing of it.
_NAMES = {
    "assertions": ("assert_enqueued", "assert_not_enqueued"),
    "dispatching": ("Dispatched", "RecordingDispatcher"),
    "draining": ("Drained", "drain", "inline"),
    "ledger": ("Audit", "Ledger", "Pen"),
    "processes": ("NotInTime", "WorkerTree"),
    "proxy": ("Proxy",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _NAMES.items():
        if name in names:
            value: object = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
