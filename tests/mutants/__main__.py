"""``python -m tests.mutants [--shard 1/3] [part of a name …]``: plant every known bug, and see that the suite finds it.

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
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock import embedded
from tests.databases import Databases
from tests.model import mutants as models
from tests.model.search import search
from tests.mutants.catalogue import Mutant, Shard, all_mutants
from tests.mutants.plugin import VARIABLE

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 300
# A mutant that is not SQL, or not Python, at all proves nothing: these name one in the output.
NONSENSE = re.compile(
    r"(PostgresSyntaxError|Undefined\w+Error|Ambiguous\w+Error|Indeterminate\w+Error|DatatypeMismatchError"
    r"|the server expects \d+ arguments?|\bNameError|UnboundLocalError)"
)
_MODEL = "model without: "
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
        return f"{word:<9} {self.seconds:5.1f} s  {self.name:<86} {self.by}"


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


@contextmanager
def _template(url: str) -> Iterator[str]:
    """Migrated once, for all that do not change a migration."""
    databases = Databases(url)
    try:
        yield databases.make_template()
    finally:
        databases.close()


def _pytest(
    server: Mapping[str, str], tests: Iterable[str], planted: Mutant | None
) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **server, "PYTHONPATH": str(ROOT), VARIABLE: planted.name if planted else ""}
    if planted is not None and "/migrations/" in planted.file:
        del environment["PENSTOCK_TEST_TEMPLATE"]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-o", "addopts=--import-mode=importlib", "--tb", "line"]
    # Without the plugins this does not need a process starts in half the time. Penstock's own is loaded before ours
    # could plant anything in what it imports.
    plugins = ["tests.mutants.plugin", "no:hypothesispytest", "no:cacheprovider", "no:penstock"]
    if planted is not None:
        plugins.append("no:xdist")
    else:
        command += ["-n", "2", "--dist", "loadfile"]
    for plugin in plugins:
        command += ["-p", plugin]
    command += ["--timeout", "60", *tests]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def _judge(server: Mapping[str, str], planted: Mutant) -> Verdict:
    started = time.monotonic()
    try:
        killed, by = _judged(_pytest(server, planted.tests, planted))
    except subprocess.TimeoutExpired:
        killed, by = None, f"no end after {TIMEOUT_SECONDS} s"
    return Verdict(name=planted.name, killed=killed, by=by, seconds=time.monotonic() - started)


def _judged(ended: "subprocess.CompletedProcess[str]") -> tuple[bool | None, str]:
    if ended.returncode == 0:
        return False, "nothing"
    if wrong := NONSENSE.search(ended.stdout):
        return None, wrong[1]
    if failed := FAILED.search(ended.stdout):
        return True, failed[1]
    return None, (ended.stderr or ended.stdout).strip().splitlines()[-1]


def _search(guard: str) -> Verdict:
    found = search(models.without(guard))
    by = f"{found.broken} (in {len(found.trace)} steps)" if found.broken else f"nothing in {found.states} states"
    return Verdict(name=_MODEL + guard, killed=found.broken is not None, by=by, seconds=found.seconds)


def _chosen(parts: list[str], shard: Shard) -> list[str]:
    names = [*(_MODEL + guard for guard in models.names()), *(one.name for one in all_mutants())]
    return shard.taken(name for name in names if not parts or any(part.lower() in name.lower() for part in parts))


def _run(names: list[str]) -> list[Verdict]:
    planted = [one for one in all_mutants() if one.name in names]
    verdicts = []
    for guard in [guard for guard in models.names() if _MODEL + guard in names]:
        verdicts.append(_search(guard))
        print(verdicts[-1].line(), flush=True)
    if not planted:
        return verdicts
    with _server() as url, _template(url) as template, ThreadPoolExecutor(max_workers=2) as pool:
        server = {"PENSTOCK_TEST_DATABASE_URL": url, "PENSTOCK_TEST_TEMPLATE": template}
        tests = sorted({test for one in planted for test in one.tests})
        clean = _pytest(server, tests, None)
        if clean.returncode:
            sys.exit(f"The suite fails without a mutant; nothing can be judged.\n{clean.stdout}{clean.stderr}")
        for verdict in pool.map(lambda one: _judge(server, one), planted):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
    return verdicts


def _shard(text: str) -> Shard:
    try:
        return Shard.parsed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only mutants whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--shard", type=_shard, default=Shard(), help="only a part of them: 1/3, 2/3, 3/3")
    asked = parser.parse_args()
    names = _chosen(asked.names, asked.shard)
    if asked.list:
        print("\n".join(names))
        return 0
    # An end by signal is an end like any other: the server goes, and its folder.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    started = time.monotonic()
    verdicts = _run(names)
    killed = sum(verdict.killed is True for verdict in verdicts)
    invalid = sum(verdict.killed is None for verdict in verdicts)
    if invalid:
        print(f"{invalid} could not be planted")
    print(f"in {time.monotonic() - started:.0f} s")
    print(f"{killed} killed, {len(verdicts) - killed} survived")
    return 0 if verdicts and killed == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
