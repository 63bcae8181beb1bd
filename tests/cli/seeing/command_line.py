"""Runs commands against one database, as a user would; in a thread, because a command owns its event loop."""

import asyncio
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from penstock.cli.app import root


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int
    stdout: str
    stderr: str


class CommandLine:
    def __init__(self, database_url: str) -> None:
        self._database_url = database_url

    async def __call__(self, *arguments: object, stdin: str = "", code: int = 0, terminal: bool = False) -> Ended:
        """Fails the test where another exit code than ``code`` comes back. ``terminal``: somebody can be asked."""
        given = [*(str(one) for one in arguments), "--database-url", self._database_url]
        ended = await asyncio.to_thread(run, given, stdin, terminal)
        assert ended.code == code, f"exit {ended.code} of {arguments}\n{ended.stdout}\n{ended.stderr}"
        return ended

    async def json(self, *arguments: object, code: int = 0) -> Any:
        return json.loads((await self(*arguments, "-o", "json", code=code)).stdout)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(arguments: list[str], stdin: str = "", terminal: bool = False) -> Ended:
    """Not for two at the same time: the streams belong to the whole process."""
    out, err = io.StringIO(), io.StringIO()
    given = Terminal(stdin) if terminal else io.StringIO(stdin)
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", given):
        try:
            root()(args=arguments, prog_name="penstock")
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return Ended(code=code, stdout=out.getvalue(), stderr=err.getvalue())
