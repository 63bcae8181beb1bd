"""The comparison with peers runs once, tiny, for Penstock and the floor, so that it cannot rot. It installs no peer."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock.console.http.listening import bind
from tests.cli.conftest import ROOT
from tests.crash.servers import folder_for_a_server

PEERS = ROOT / "bench" / "peers"
HARNESS = Path(os.environ.get("PENSTOCK_PEERS", ROOT.parent / "shared" / "bench" / "peers"))
# Where the harness looks for the server.
POSTGRESQL = Path("/usr/lib/postgresql/15/bin/postgres")


def joining(monkeypatch: pytest.MonkeyPatch, url: str) -> Any:
    """The module that joins the harness, with as much of the harness as it imports."""
    recorder, shared = ModuleType("rec"), ModuleType("common")
    vars(shared).update(PG_DSN=url, NAP=0.005, payload=lambda i: {"i": i})
    monkeypatch.setitem(sys.modules, "rec", recorder)
    monkeypatch.setitem(sys.modules, "common", shared)
    spec = importlib.util.spec_from_file_location("penstock_app", PEERS / "penstock_app.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_a_reset_leaves_an_empty_schema_as_often_as_the_harness_asks(
    monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    driver = joining(monkeypatch, database_url).Driver()
    for _ in range(2):
        await driver.reset()
        await driver.open()
        try:
            assert await driver.pending() == 0
            await driver.one(0, "noop")
            await driver.batch([1, 2], "nap")
            assert await driver.pending() == 3
        finally:
            await driver.close()


@pytest.mark.timeout(300)  # it starts fifteen processes, one after the other
def test_penstock_and_the_floor_run_through_the_harness() -> None:
    if not (HARNESS / "run.py").exists():
        pytest.skip(f"no peers harness in {HARNESS}")
    if os.geteuid() != 0 or not POSTGRESQL.exists() or shutil.which("redis-server") is None:
        pytest.skip("the harness needs root, PostgreSQL 15 and Redis, and would install them")
    with bind("127.0.0.1", 0) as one, bind("127.0.0.1", 0) as another:
        ports = [str(listening.getsockname()[1]) for listening in (one, another)]
    with folder_for_a_server() as folder:
        environment = {
            **os.environ,
            "PENSTOCK_PEERS": str(HARNESS),
            "BENCH_ROOT": str(folder / "harness"),
            "BENCH_PG_PORT": ports[0],
            "BENCH_REDIS_PORT": ports[1],
        }
        try:
            run = subprocess.run(
                [sys.executable, str(PEERS / "run.py"), "--tiny"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            subprocess.run([sys.executable, str(HARNESS / "servers.py"), "stop"], env=environment, check=True)
    assert run.returncode == 0, run.stdout + run.stderr
    figures = run.stdout.partition("| system |")[2]
    assert "| floor |" in figures and "| penstock |" in figures, run.stdout
    assert "failed" not in figures, run.stdout
