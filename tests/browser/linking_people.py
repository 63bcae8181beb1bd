"""People that never were, for the screens of linking: some that cannot be told apart, and hostile ones."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from penstock.extensions.linking.sample_source import PATH, SampleSource, _entity, folded

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(1)</script>'
LINK = "javascript:alert(1)"
TWINS = [f"Twin Alder{letter}" for letter in "abcdef"]

# The column that is called like a script is only carried along.
CSV = f"""name,born,homepage,{SCRIPT.replace('"', '""').join(('"', '"'))}
Ada Quillfeather,1815-12-10,https://example.org/ada,plain
{chr(10).join(f"{name},1900,{LINK},plain" for name in TWINS)}
{IMAGE},1901,{LINK},{IMAGE}
Somebody Unknownly,1900,,plain
"""


def source() -> SampleSource:
    """Of every twin there are two, born on other days of the same year."""
    made = SampleSource()
    people: list[dict[str, Any]] = []
    for number, name in enumerate(TWINS):
        for half, day in enumerate(("03-04", "08-09")):
            id = f"Q91{number}{half}"
            people.append(
                {"id": id, "label": name, "description": f"twin {half}", "born": f"1900-{day}", "links": 3 - half}
            )
    for half in (0, 1):
        people.append(
            {"id": f"Q92{half}", "label": IMAGE, "description": SCRIPT, "born": f"1901-0{half + 1}-01", "links": 1}
        )
    for one in people:
        made._entities[one["id"]] = _entity(one)
        made._names.append((folded(one["label"]), one["id"]))
    return made


@contextmanager
def serving() -> Iterator[str]:
    """Its address, from a thread of its own: the browser's driver occupies the event loop of the test."""
    started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        over = asyncio.Event()
        async with await asyncio.start_server(source().answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            started.set_result((f"http://127.0.0.1:{port}{PATH}", asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    url, loop, over = started.result(60)
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
