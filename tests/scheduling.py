"""In which order the files begin, and where the time went.

A file that takes minutes must not be the last one to begin: the other processes would wait for it. The files that take
longest therefore come first, in this order; `make test` prints the time of every folder and the slowest tests.
"""

from collections import Counter

import pytest

LONGEST_FIRST = (
    "browser/test_every_screen.py",
    "crash/test_worker_death.py",
    "transports/test_storms.py",
    "apps/test_articles_properties.py",
    "cli/test_serving.py",
    "browser/test_running.py",
    "crash/test_partitions.py",
    "transports/test_broker_faults.py",
    "browser/test_live.py",
    "crash/test_articles.py",
    "crash/test_isolated.py",
    "browser/test_grid_speed.py",
    "cli/test_link_commands.py",
    "browser/test_grid.py",
    "crash/test_failover.py",
    "browser/test_people.py",
    "unit/test_state_model.py",
    "crash/test_linking.py",
    "browser/test_intake.py",
    "crash/test_sites.py",
    "browser/test_linking.py",
    "transports/test_limiter_conformance.py",
    "browser/test_sites.py",
)
_SLOWEST = 10


def begins(path: str) -> int:
    """The place of a file in the order; files that are not named keep theirs."""
    name = path.removeprefix("tests/")
    return LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: begins(item.nodeid.partition("::")[0]))


class Times:
    """Adds up what the processes report."""

    def __init__(self) -> None:
        self.folders: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.folders["/".join(report.nodeid.split("/")[:2])] += report.duration
        self.tests[report.nodeid] += report.duration

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.tests) <= _SLOWEST:
            return
        terminalreporter.section("time")
        for name, seconds in (*self.folders.most_common(), *self.tests.most_common(_SLOWEST)):
            terminalreporter.write_line(f"{seconds:7.1f} s  {name}")
