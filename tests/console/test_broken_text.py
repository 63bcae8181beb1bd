"""Text that PostgreSQL cannot keep, in every place of every route that takes text: refused, never a fault.

The fuzzer finds such places by chance; this goes through all of them.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.console import world as worlds
from tests.console.conftest import Service
from tests.console.matrix import ROWS, Row
from tests.console.world import World

# As it stands in JSON, and as a URL can carry it: half a surrogate pair only as bytes that are no UTF-8.
BROKEN = {"a\0b": "a%00b", "a\ud800b": "a%ED%A0%80b"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_FILE_ROOTS", str(tmp_path))


async def test_broken_text_is_refused_wherever_text_is_taken(service: Service) -> None:
    world = await worlds.make(service)
    root = await service.client("root")
    paths = service.api.openapi()["paths"]
    wrong, sent = [], 0
    for (method, path), row in ROWS.items():
        if row.endless:
            continue
        parameters = paths[path][method.lower()].get("parameters", [])
        for text, encoded in BROKEN.items():
            for place, answer in await _attacks(root, world, method, path, row, parameters, text, encoded):
                sent += 1
                if answer.status_code >= 500:
                    wrong.append(f"{method} {path} with {text!r} in {place}: {answer.status_code} {answer.text[:200]}")
    assert wrong == []
    assert sent > 100


async def _attacks(
    client: httpx2.AsyncClient,
    world: World,
    method: str,
    path: str,
    row: Row,
    parameters: list[dict[str, Any]],
    text: str,
    encoded: str,
) -> list[tuple[str, httpx2.Response]]:
    ids = {name: quote(str(value)) for name, value in (await row.ids(world) if row.ids else {}).items()}
    query = {name: quote(str(value)) for name, value in row.query(world).items()}
    body = row.body(world) if row.body else None
    made = []
    for one in parameters:
        name = one["name"]
        if one["in"] == "path":
            made.append((f"path {name}", ids | {name: encoded}, query, body))
        elif one["in"] == "query":
            made.append((f"query {name}", ids, query | {name: encoded}, body))
    for name, value in (body or {}).items():
        if isinstance(value, str):
            made.append((f"body {name}", ids, query, {**body, name: text}))
    if body is not None:
        made.append(("an unknown field", ids, query, {**body, text: text}))
    return [(place, await _send(client, method, path.format(**i), q, b)) for place, i, q, b in made]


async def _send(
    client: httpx2.AsyncClient, method: str, path: str, query: dict[str, str], body: Any
) -> httpx2.Response:
    target = path + ("?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else "")
    content = None if body is None else json.dumps(body).encode()
    try:
        return await client.request(method, target, content=content, headers={"content-type": "application/json"})
    except Exception as error:  # what the service itself raised, instead of an answer
        return httpx2.Response(500, text=f"{type(error).__name__}: {error}")
