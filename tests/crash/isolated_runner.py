"""A program with one isolated handler in flight, to be killed. Arguments: the task and its path."""

import asyncio
import sys

from penstock.fleet.isolated.calls import Children
from tests.crash.isolated_calls import context_of, definition_of


async def main(name: str, path: str) -> None:
    children = Children("tests.crash.isolated_app:app")
    definition = definition_of(name)
    await children.call(definition, context_of(f'{{"path": "{path}"}}'), {})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
