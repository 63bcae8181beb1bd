"""What the crash suite runs. Every handler leaves its trace in the double ledger."""

import asyncio
import ctypes
import os
import time
from pathlib import Path

from penstock import Context, Penstock, RetryPolicy
from penstock.console.files import importing
from penstock.testing.ledger import Pen

app = Penstock("crash")
pen = Pen()
_AT_ONCE = RetryPolicy(base_seconds=0.01, jitter=0)


@app.task(retry=_AT_ONCE)
async def quick(ctx: Context, n: int = 0, seconds: float = 0.003) -> int:
    pen.note(ctx, "start")
    await asyncio.sleep(seconds)
    pen.note(ctx, "end")
    return n


@app.task(retry=_AT_ONCE)
async def patient(ctx: Context, gate: str) -> str:
    """Runs until the file appears."""
    pen.note(ctx, "start")
    while not Path(gate).exists():
        await asyncio.sleep(0.02)
    return "opened"


@app.task(retry=_AT_ONCE)
async def effect(ctx: Context, n: int = 0, seconds: float = 0.0) -> int:
    """Its effect is a row, written in the transaction that settles it."""
    pen.note(ctx, "start")
    async with ctx.transaction() as transaction:
        await pen.write(transaction.connection, ctx, "effect")
        await asyncio.sleep(seconds)
        transaction.result = n
    return n


@app.task(retry=_AT_ONCE)
async def outside_effect(ctx: Context, once: str) -> str:
    """Does something outside, then dies before it can be settled; the second run finds it done."""
    pen.note(ctx, "start")
    marker = Path(once)
    if marker.exists():
        return "was done already"
    marker.touch()
    os.kill(os.getpid(), 9)
    return "unreachable"


@app.task(retry=_AT_ONCE, pool=2)
def holds_the_gil(ctx: Context, seconds: float) -> str:
    """A C call that does not let go of the interpreter lock: no other thread of the process runs meanwhile."""
    pen.note(ctx, "start")
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))
    return "let go"


@app.task(retry=_AT_ONCE, pool=2)
def segfault(ctx: Context) -> None:
    pen.note(ctx, "start")
    ctypes.string_at(0)


@app.task(retry=_AT_ONCE, pool=2)
def leaves(ctx: Context) -> None:
    pen.note(ctx, "start")
    os._exit(7)


@app.task(retry=_AT_ONCE, timeout=0.5, pool=2)
def endless(ctx: Context) -> None:
    """Sits in C, and cannot be interrupted."""
    pen.note(ctx, "start")
    ctypes.PyDLL(None).sleep(600)


@app.task(retry=_AT_ONCE)
async def returns(ctx: Context, what: str) -> object:
    """Results that PostgreSQL or JSON cannot keep."""
    pen.note(ctx, "start")
    values: dict[str, object] = {
        "nul": "a\0b",
        "nan": float("nan"),
        "infinity": [1.0, float("inf")],
        "surrogate": "\ud800",
        "object": object(),
        "bytes": b"\xff",
        "large": "x" * 20_000_000,
        "cycle": [],
        "fine": {"stored": time.time()},
    }
    cycle = values["cycle"]
    assert isinstance(cycle, list)
    cycle.append(cycle)
    return values[what]


@app.task(retry=_AT_ONCE)
async def raises(ctx: Context, what: str) -> None:
    pen.note(ctx, "start")
    texts = {"nul": "a\0b", "surrogate": "\udcff", "long": "x" * 5_000_000}
    raise ValueError(texts[what])


@app.task(retry=_AT_ONCE)
async def ends_its_connection(ctx: Context, statement: str = "select pg_terminate_backend(pg_backend_pid())") -> None:
    pen.note(ctx, "start")
    async with ctx.transaction() as transaction:
        await transaction.connection.execute(statement)


@app.task(retry=_AT_ONCE)
async def row_of_file(ctx: Context, row: int, cells: list[str]) -> int:
    pen.note(ctx, "start")
    return row


importing.install(app)
