"""In which order the files begin, and where the time went.

A file that takes minutes must not be the last one to begin: the other processes would wait for it. The files that take
longest therefore come first, in this order, and the others mixed. `make test` prints the time of every folder and the
slowest tests.
"""

from collections import Counter
from collections.abc import Iterable

import pytest

LONGEST_FIRST = (
    "browser/test_every_screen.py",
    "crash/test_worker_death.py",
    "brokers/test_storms.py",
    "extensions/test_articles_properties.py",
    "cli/test_serving.py",
    "browser/test_running.py",
    "crash/test_partitions.py",
    "brokers/test_broker_faults.py",
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
    "brokers/test_limiter_conformance.py",
    "browser/test_sites.py",
)
_SLOWEST = 10


def order(paths: Iterable[str]) -> list[str]:
    """The longest first; then a part of every folder in turn, because one folder waits while another computes."""
    files = list(dict.fromkeys(path.removeprefix("tests/") for path in paths))
    by_folder: dict[str, list[str]] = {}
    for file in files:
        if file not in LONGEST_FIRST:
            by_folder.setdefault(file.partition("/")[0], []).append(file)
    share = {file: place / len(folder) for folder in by_folder.values() for place, file in enumerate(folder)}
    return [file for file in LONGEST_FIRST if file in files] + sorted(share, key=share.__getitem__)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def path(item: pytest.Item) -> str:
        return item.nodeid.partition("::")[0].removeprefix("tests/")

    place = {file: number for number, file in enumerate(order(path(item) for item in items))}
    items.sort(key=lambda item: place[path(item)])


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
