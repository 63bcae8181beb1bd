"""``python -m tests.mutants [part of a name …]``: plant every known bug, and see that the suite finds it.

Guards of the models are taken away inside the searches; guards of the SQL and of the Python beside it in a pytest
process each, two at a time, all on one embedded server. Ends with 1 if a mutant survives or does not apply.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.storage import embedded
from tests.model import mutants as models
from tests.model.search import search
from tests.mutants.catalogue import Mutant, all_mutants
from tests.mutants.plugin import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 300
# A mutant that is not SQL at all proves nothing: these name one in the output.
NOT_SQL = re.compile(
    r"(PostgresSyntaxError|Undefined\w+Error|Ambiguous\w+Error|Indeterminate\w+Error|DatatypeMismatchError)"
)
FAILED = re.compile(r"^FAILED \S+?::(.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``killed`` None: it could not be planted, which is as bad as a survivor."""

    name: str
    killed: bool | None
    by: str
    seconds: float

    def line(self) -> str:
        word = {True: "killed", False: "SURVIVED", None: "INVALID"}[self.killed]
        return f"{word:<9} {self.seconds:5.1f} s  {self.name:<58} {self.by}"


@contextmanager
def _server() -> Iterator[str]:
    """One server for all runs, unless the caller has one."""
    if given := os.environ.get("PENSTOCK_TEST_DATABASE_URL"):
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="penstock-mutants-", dir="/tmp"))
    folder.chmod(0o711)
    server = embedded.acquire(folder / "home", settings={"fsync": "off", "synchronous_commit": "off"})
    try:
        yield server.url
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)


def _pytest(url: str, tests: Iterable[str], planted: str | None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PENSTOCK_TEST_DATABASE_URL": url, "PYTHONPATH": str(ROOT), VARIABLE: planted or ""}
    # Without the plugins this does not need a process starts in half the time.
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-o", "addopts=--import-mode=importlib", "--tb", "line"]
    for plugin in ("tests.mutants.plugin", "no:xdist", "no:hypothesispytest", "no:cacheprovider"):
        command += ["-p", plugin]
    command += ["--timeout", "60", *tests]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def _judge(url: str, planted: Mutant) -> Verdict:
    started = time.monotonic()
    try:
        killed, by = _judged(_pytest(url, planted.tests, planted.name))
    except subprocess.TimeoutExpired:
        killed, by = None, f"no end after {TIMEOUT_SECONDS} s"
    return Verdict(name=planted.name, killed=killed, by=by, seconds=time.monotonic() - started)


def _judged(ended: "subprocess.CompletedProcess[str]") -> tuple[bool | None, str]:
    if ended.returncode == 0:
        return False, "nothing"
    if wrong := NOT_SQL.search(ended.stdout):
        return None, wrong[1]
    if failed := FAILED.search(ended.stdout):
        return True, failed[1]
    return None, (ended.stderr or ended.stdout).strip().splitlines()[-1]


def _search(guard: str) -> Verdict:
    found = search(models.without(guard))
    by = f"{found.broken} (in {len(found.trace)} steps)" if found.broken else f"nothing in {found.states} states"
    return Verdict(name=f"model without: {guard}", killed=found.broken is not None, by=by, seconds=found.seconds)


def _chosen(parts: list[str], names: Iterable[str]) -> set[str]:
    return {name for name in names if not parts or any(part.lower() in name.lower() for part in parts)}


def _run(parts: list[str]) -> list[Verdict]:
    guards = _chosen(parts, models.names())
    planted = [one for one in all_mutants() if one.name in _chosen(parts, [two.name for two in all_mutants()])]
    verdicts = []
    for guard in sorted(guards, key=models.names().index):
        verdicts.append(_search(guard))
        print(verdicts[-1].line(), flush=True)
    if not planted:
        return verdicts
    with _server() as url, ThreadPoolExecutor(max_workers=2) as pool:
        tests = sorted({test for one in planted for test in one.tests})
        clean = _pytest(url, tests, None)
        if clean.returncode:
            sys.exit(f"The suite fails without a mutant; nothing can be judged.\n{clean.stdout}{clean.stderr}")
        for verdict in pool.map(lambda one: _judge(url, one), planted):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only mutants whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join([f"model without: {name}" for name in models.names()] + [one.name for one in all_mutants()]))
        return 0
    # An end by signal is an end like any other: the server goes, and its folder.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    started = time.monotonic()
    verdicts = _run(asked.names)
    killed = sum(verdict.killed is True for verdict in verdicts)
    invalid = sum(verdict.killed is None for verdict in verdicts)
    if invalid:
        print(f"{invalid} could not be planted")
    print(f"in {time.monotonic() - started:.0f} s")
    print(f"{killed} killed, {len(verdicts) - killed} survived")
    return 0 if verdicts and killed == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
