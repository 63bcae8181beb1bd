"""An application of isolated handlers: every way in which a handler can end, and some it should not."""

import ctypes
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import date, timedelta
from typing import Any

from pydantic import BaseModel

from penstock.application import Penstock
from penstock.core.context import Context
from penstock.core.retry import RetryPolicy
from penstock.errors import PermanentError, ThrottledError
from penstock.model import Cancel, Done, NotFound, Skip, Snooze

app = Penstock("isolated")


class Size(BaseModel):
    width: int
    height: int


class BadRow(Exception):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


@app.task(isolated=True)
def pid() -> int:
    return os.getpid()


@app.task(isolated=True)
def double(number: int) -> dict[str, int]:
    return {"doubled": 2 * number}


@app.task(isolated=True)
def area(size: Size, day: date) -> dict[str, Any]:
    assert isinstance(day, date)
    return {"area": size.width * size.height, "types": [type(size).__name__, type(day).__name__], "day": day}


two = app.pipeline("two")


@two.stage()
def first(number: int) -> int:
    return number


@two.stage(isolated=True)
def second(ctx: Context, found: dict[str, Any]) -> Any:
    return {"found": found, "previous": ctx.previous}


@app.task(isolated=True)
def told(ctx: Context) -> dict[str, Any]:
    return {
        "task_id": ctx.task_id,
        "job_id": ctx.job_id,
        "attempt": ctx.attempt,
        "max_attempts": ctx.max_attempts,
        "run": ctx.run,
        "lease": ctx.lease,
        "idempotency_key": ctx.idempotency_key,
        "trace": ctx.trace,
        "previous": ctx.previous,
        "cancelled": ctx.cancelled,
    }


@app.task(isolated=True)
def reports(ctx: Context) -> None:
    ctx.progress(1, 3, "one \0 third")
    ctx.progress(2, 3)


@app.task(isolated=True)
def asks_for(ctx: Context, what: str) -> None:
    if what == "limiter":
        ctx.limiter("wikidata")
    else:
        ctx.transaction()


@app.task(isolated=True)
def ends(how: str) -> Any:
    return {
        "done": Done({"a": 1}),
        "not found": NotFound("no such page"),
        "not found yet": NotFound("no such page", again_after=timedelta(seconds=30)),
        "skip": Skip("nothing \0 new"),
        "snooze": Snooze(timedelta(seconds=90), "later"),
        "cancel": Cancel("not wanted"),
        "none": None,
        "snooze for nan": Snooze(math.nan),
    }[how]


@app.task(isolated=True)
def returns(what: str) -> Any:
    return {
        "object": object(),
        "nul": "a\0b",
        "nan": {"x": [math.nan]},
        "large": "x" * 50_000,
        "surrogate": "\ud800",
    }[what]


@app.task(isolated=True, retry=RetryPolicy(permanent=(BadRow, LookupError), transient=(IndexError,)))
def raises(what: str) -> None:
    kinds: dict[str, BaseException] = {
        "value": ValueError("odd value"),
        "bad row": BadRow("row 7"),
        "key": KeyError("name"),
        "index": IndexError("list index out of range"),
        "permanent": PermanentError("never"),
        "throttled": ThrottledError("slow down", retry_after=17, key="wikidata"),
        "unprintable": Unprintable(),
        "exit": SystemExit(3),
        "text": RuntimeError("a \0 and a \ud800 and " + "x" * 100_000),
    }
    raise kinds[what]


@app.task(isolated=True, retry=RetryPolicy(permanent=(Exception,), transient=(IndexError,)))
def gives_up_on_most(what: str) -> None:
    raise {"index": IndexError, "key": KeyError}[what](what)


@app.task(isolated=True)
def prints() -> str:
    print("a print of the handler")
    sys.stdout.write("more\n")
    sys.stdout.flush()
    os.write(1, b"\0\0\0\5hello")
    os.write(2, b"\xff\xff\xff\xff")
    return "printed"


@app.task(isolated=True, max_attempts=10, retry=RetryPolicy(base_seconds=0.01))
def dies(how: str) -> None:
    if how == "segfault":
        ctypes.string_at(0)
    elif how == "exit":
        os._exit(7)
    elif how == "abort":
        os.abort()
    else:
        os.kill(os.getpid(), signal.SIGKILL)


@app.task(isolated=True)
def waits(path: str) -> None:
    """Writes its pid, then never ends."""
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    while True:
        time.sleep(60)


@app.task(isolated=True)
def holds_the_gil(path: str) -> None:
    """One call of C code that never comes back to the interpreter."""
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    re.match(r"(a*)*$", "a" * 60 + "b")


@app.task(isolated=True)
def looks_at_cancelled(ctx: Context, path: str, then: str) -> str:
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    end = time.monotonic() + 60
    while not ctx.cancelled and time.monotonic() < end:
        time.sleep(0.01)
    if then == "raise":
        raise PermanentError("stopped half-way")
    return "stopped cleanly"


@app.task(isolated=True)
def starts_a_program(path: str) -> None:
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(path, "w") as file:
        file.write(str(program.pid))
    while True:
        time.sleep(60)


@app.task(isolated=True)
def leaves_a_thread() -> int:
    threading.Thread(target=time.sleep, args=(600,)).start()
    return os.getpid()


@app.task(isolated=True)
def open_files() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return found


@app.task(isolated=True)
def speaks_into_the_link() -> None:
    """What no handler should do: write to file descriptors it does not own."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.write(int(name), b"\xff\xff\xff\xffnonsense")
        except OSError:
            continue
    time.sleep(30)
