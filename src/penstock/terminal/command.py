"""Turns a plain function into a command: global options, a session, errors as exit codes.

    def register(app: typer.Typer) -> None:
        @command(app)
        async def status(session: Session, minutes: int = 60) -> None:
            \"\"\"What the help says.\"\"\"

The first parameter gets the session, the others become arguments and options as typer reads them.
The function may return an exit code.
"""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import typer

from penstock.terminal.errors import exit_code_of, report
from penstock.terminal.options import ANNOTATIONS, Options
from penstock.terminal.session import Session

Function = Callable[..., Any]


def command(app: typer.Typer, name: str | None = None, **more: Any) -> Callable[[Function], Function]:
    """Register with ``app``; ``name`` where the function's own will not do, ``more`` goes to typer."""

    def register(function: Function) -> Function:
        app.command(name, **more)(with_global_options(function))
        return function

    return register


def with_global_options(function: Function) -> Function:
    """What typer sees: the function's own parameters and the global ones, without the session."""
    signature = inspect.signature(function, eval_str=True)
    _session, *own = signature.parameters.values()

    @functools.wraps(function)
    def called(*, _context: typer.Context, **values: Any) -> None:
        given = Options(**{key: values.pop(key) for key in ANNOTATIONS})
        options = given.over(_context.obj) if isinstance(_context.obj, Options) else given
        if code := run(options, functools.partial(function, **values), module=function.__module__):
            raise typer.Exit(code)

    _declare(called, own)
    return called


def run(
    options: Options, function: Callable[[Session], Awaitable[int | None] | int | None], *, module: str = ""
) -> int:
    """Call it with a session, on a loop if it is async; every error becomes a few lines and a code. ``module``: where
    the command stands."""
    session = Session(options, module)
    try:
        ended = function(session)
        if inspect.iscoroutine(ended):
            ended = asyncio.run(_and_close(session, ended))
        assert ended is None or isinstance(ended, int)
        return ended or 0
    except typer.Exit as chosen:
        return chosen.exit_code
    except typer.Abort:
        # Ctrl-C, or the end of input, where a question was asked.
        report(KeyboardInterrupt(), options)
        return exit_code_of(KeyboardInterrupt())
    except (KeyboardInterrupt, Exception) as error:
        report(error, options)
        return exit_code_of(error)


async def _and_close(session: Session, work: Awaitable[int | None]) -> int | None:
    try:
        return await work
    finally:
        await session.close()


def accept_global_options(app: typer.Typer) -> None:
    """Let them stand before the command as well: `penstock -o json status`, `penstock tasks -o json list`."""

    def remember(*, _context: typer.Context, **values: Any) -> None:
        given = Options(**values)
        _context.obj = given.over(_context.obj) if isinstance(_context.obj, Options) else given

    _declare(remember, [])
    app.callback()(remember)


def _declare(function: Function, own: list[inspect.Parameter]) -> None:
    """Give the function the signature that typer reads: its own parameters, then the global options."""
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    for key, annotation in {**ANNOTATIONS, "_context": typer.Context}.items():
        default = inspect.Parameter.empty if key == "_context" else None
        parameters.append(
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    function.__dict__.pop("__wrapped__", None)
    function.__dict__["__signature__"] = inspect.Signature(parameters)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
