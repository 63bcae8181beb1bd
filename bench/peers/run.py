"""Penstock and its peers on the same work in one run: `make bench-peers`.

The harness with the peers' applications lives outside this repository (PENSTOCK_PEERS, default ../shared/bench/peers
beside it). It installs the peers into folders of its own, starts a private PostgreSQL 15 and Redis on loopback, and
needs root on Debian to install those two. Further arguments go to the harness: `--rounds 1 --n 2000` for a short look.
`--tiny` shows in seconds that it works, for Penstock and the floor alone; its figures mean nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
PEERS = ("pgqueuer", "dramatiq", "taskiq", "celery", "huey", "floor", "penstock")
# Penstock's drain with one process should be at least so many times the peer's.
GOALS = {"pgqueuer": 2, "dramatiq": 8, "taskiq": 8, "celery": 20}
# Fast systems get a longer backlog.
BACKLOG = 40_000
TINY = ["--peers", "floor,penstock", "--rounds", "1", "--n", "100", "--lat", "3"]


def main() -> int:
    harness = Path(os.environ.get("PENSTOCK_PEERS", REPOSITORY.parent / "shared" / "bench" / "peers")).resolve()
    if not (harness / "run.py").exists():
        print(f"There is no peers harness in {harness}. Set PENSTOCK_PEERS to its folder.", file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("The harness installs and starts PostgreSQL and Redis, and has to run as root.", file=sys.stderr)
        return 2
    tiny = "--tiny" in sys.argv[1:]
    given = [argument for argument in sys.argv[1:] if argument != "--tiny"]
    with tempfile.TemporaryDirectory(prefix="penstock-peers-") as folder:
        joining = Path(folder)
        joining.chmod(0o755)
        shutil.copy(HERE / "penstock_app.py", joining)
        backlog = None if tiny else BACKLOG
        entries = {"floor": floor_entry(harness, backlog), "penstock": penstock_entry(backlog)}
        (joining / "extra_penstock.json").write_text(json.dumps(entries, indent=1))
        result = joining / "peers.json"
        arguments = ["--peers", ",".join(PEERS), "--parts", "peers", "--rounds", "3", "--out", str(result)]
        code = subprocess.call(
            [sys.executable, str(harness / "run.py"), *arguments, *(TINY if tiny else []), *given],
            env={**os.environ, "BENCH_EXTRA": str(joining)},
        )
        if code == 0 and result.exists():
            print(table(json.loads(result.read_text())))
        return code


def floor_entry(harness: Path, backlog: int | None) -> dict[str, Any]:
    """The harness's own loop over a bare table, with the interpreter and the packages that Penstock has."""
    worker = [sys.executable, str(harness / "apps" / "floor_app.py")]
    return {
        "venv": sys.prefix,
        "pkgs": [],
        "store": "pg",
        "w1": [worker],
        "w2": [worker, worker],
        "crash": [worker],
        "note": "not a product: a bare asyncpg loop that claims 500 and completes in batches",
        "env": {},
        "env_crash": {"BENCH_DEFAULT": "1"},
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "n": None,
        "top": backlog,
        "batch_note": "insert from unnest x1000",
    }


def penstock_entry(backlog: int | None) -> dict[str, Any]:
    """Penstock as the harness describes a system: one process is one runner under its supervisor."""
    worker = [str(Path(sys.prefix) / "bin" / "penstock"), "worker", "--app", "penstock_app:app", "--runners"]
    port = os.environ.get("BENCH_PG_PORT", "55432")
    environment = {"PENSTOCK_DATABASE_URL": f"postgresql://bench@127.0.0.1:{port}/b_penstock"}
    return {
        "venv": sys.prefix,
        "pkgs": [],
        "store": "pg",
        "w1": [[*worker, "1"]],
        "w2": [[*worker, "2"]],
        "crash": [[*worker, "1"]],
        "note": "defaults; log level warning",
        "env": {**environment, "PENSTOCK_LOG_LEVEL": "warning"},
        "env_crash": {**environment, "BENCH_DEFAULT": "1"},
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "n": None,
        "top": backlog,
        "batch_note": "enqueue_many x1000",
    }


def table(data: dict[str, Any]) -> str:
    """In markdown, for bench/README.md."""
    summary = data["summary"]
    ours = summary.get("penstock", {}).get("drain1")
    lines = [
        "| system | enqueue one / batch per s | drain, 1 process | 2 processes | CPU µs a job | pick-up p50 / p99 ms"
        " | Penstock, 1 process | goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in sorted(summary, key=lambda one: -(summary[one].get("drain1") or 0)):
        found = summary[name]
        if "error" in found:
            lines.append(f"| {name} | failed: {found['error'][:100]} |" + " |" * 6)
            continue
        times = f"{ours / found['drain1']:.1f} ×" if ours and found["drain1"] and name != "penstock" else ""
        goal = f"≥ {GOALS[name]} ×" if name in GOALS else ""
        lines.append(
            f"| {name} | {number(found['enq_one'])} / {number(found['enq_batch'])} | {number(found['drain1'])}"
            f" | {number(found['drain2'])} | {number(found['cpu1'])} | {number(found['p50'], 1)} /"
            f" {number(found['p99'], 1)} | {times} | {goal} |"
        )
    return "\n".join(lines)


def number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
