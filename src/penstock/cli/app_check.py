"""Is the application there? Asked before anything is started, so that a wrong ``--app`` is answered at once.

The module is imported in a process of its own (``python -m penstock.cli.app_check``): the supervisor never runs user
code, and what an import leaves behind must not be inherited by it.
"""

import asyncio
import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import orjson

from penstock.control.schema import Brought
from penstock.errors import PenstockError, UsageError

# Between the command line and the user's module stand only frames like these, which tell nobody anything.
_NOT_THE_USERS = ("importlib", "penstock/core/loading.py", "penstock/core/loading.py")


async def check(reference: str, only: Sequence[str] = ()) -> Brought:
    """Raises a UsageError that says what is wrong; a module that fails on import shows its traceback on stderr."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "penstock.cli.app_check", reference, *only, stdout=asyncio.subprocess.PIPE
    )
    try:
        said, _ = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == 0:
        return Brought.from_json(orjson.loads(said))
    raise UsageError(
        said.decode()
        or f"Importing {reference} ended the process (exit code {child.returncode}). A module that is imported must"
        " not end it."
    )


def looked_at(reference: str, only: Iterable[str]) -> Brought | str:
    """Or what keeps a worker from serving it, as a sentence."""
    from penstock.core.loading import load_app
    from penstock.terminal.served import carried

    try:
        # Its traceback is shown below, without the frames that are ours.
        with contextlib.redirect_stderr(io.StringIO()):
            app = load_app(reference, carried())
    except PenstockError as error:
        if error.__cause__ is not None:
            sys.stderr.write(_users_part(error.__cause__))
        return str(error)
    known = set(app.pipelines)
    known |= {f"{one.name}/{stage.name}" for one in app.pipelines.values() for stage in one.stages}
    missing = sorted(set(only) - known)
    if missing:
        return f"--only {missing[0]!r} names nothing in {reference}. It serves {', '.join(sorted(known)) or 'nothing'}."
    return Brought.of(app.extensions.values())


def _users_part(error: BaseException) -> str:
    told = traceback.TracebackException.from_exception(error)
    kept = [frame for frame in told.stack if not any(part in frame.filename for part in _NOT_THE_USERS)]
    told.stack = traceback.StackSummary.from_list(kept)
    return "".join(told.format())


def main() -> None:
    """What the module prints goes nowhere: the runner that imports it next prints it again."""
    answer = os.dup(1)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    found = looked_at(sys.argv[1], sys.argv[2:])
    with os.fdopen(answer, "wb") as out:
        out.write(found.encode() if isinstance(found, str) else orjson.dumps(asdict(found)))
    sys.stderr.flush()
    # Without the end of an interpreter: threads that the module started must not hold this up.
    os._exit(2 if isinstance(found, str) else 0)


if __name__ == "__main__":
    main()
