"""A server on loopback that speaks Wikidata's API about a made-up world, keeps to a limit, and fails on demand.

    async with WikidataServer(world, per_second=200, fail_share=0.02) as server:
        load(..., linking_endpoint=server.url, linking_user_agent="tests (https://example.org)")
        server.lag_seconds = 12.0       # every call gets the error maxlag; None: as usual
        server.answers.append(Reply(…)) # for the next call only
        server.counts()                 # by kind, question and answer

    async with running(entities=10_000, per_second=200) as url:     # a process of its own
        await counts_of(url)            # the same counts, over HTTP

Alone: ``python -m tests.extensions.wikidata_server --port 8900 --per-second 5``; it prints its address.
``/counts`` is not limited, and ``/counts?reset=1`` begins anew.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2
import orjson

from tests.extensions.quick_http import QuickServer, Reply, Request
from tests.extensions.wikidata_world import World, generated

PATH = "/w/api.php"
FAILURES = ("500", "502", "html")
_PAGE = b"<!DOCTYPE html><html><head><title>Our servers are having a rest</title></head><body></body></html>"
_MOST = 50
_PROPS = ("labels", "aliases", "descriptions", "claims", "sitelinks")
_BY_LANGUAGE = ("labels", "aliases", "descriptions")


class WikidataServer(QuickServer):
    """All switches may be moved while it runs."""

    def __init__(
        self,
        world: World,
        *,
        per_second: float | None = None,
        fail_share: float = 0.0,
        failures: tuple[str, ...] = FAILURES,
        latency_seconds: float = 0.0,
        seed: int = 1,
    ) -> None:
        super().__init__()
        self.world = world
        self.per_second = per_second
        self.fail_share = fail_share
        self.failures = failures
        self.latency_seconds = latency_seconds
        self.lag_seconds: float | None = None
        self.retry_after: str | None = "1"
        self.answers: deque[Reply] = deque()
        self.requests: list[Request] = []
        self.most_in_a_second = 0
        self._chance = random.Random(seed)
        self._served: deque[float] = deque()
        self._counts: Counter[tuple[str, str, str]] = Counter()

    @property
    def url(self) -> str:
        return f"{self.origin}{PATH}"

    def counts(self) -> dict[str, Any]:
        """``search`` and ``entities``: question → answer → how often; ``answers``: of all together."""
        found: dict[str, Any] = {"search": {}, "entities": {}, "other": {}, "answers": Counter()}
        for (kind, question, answer), times in self._counts.items():
            found[kind].setdefault(question, {})[answer] = times
            found["answers"][answer] += times
        found["total"] = sum(self._counts.values())
        found["most_in_a_second"] = self.most_in_a_second
        found["most_at_once"] = self.most_at_once
        return found

    def reply(self, request: Request) -> Reply:
        if request.path == "/counts":
            told = orjson.dumps(self.counts())
            if "reset" in request.fields:
                self._counts.clear()
                self.most_in_a_second = 0
            return Reply(body=told)
        if len(self.requests) < 1000:  # enough to look at
            self.requests.append(request)
        answer, reply = self._answer(request)
        self._counts[*_question(request), answer] += 1
        return reply

    def _answer(self, request: Request) -> tuple[str, Reply]:
        if self.answers:
            reply = self.answers.popleft()
            return str(reply.status), reply
        if "user-agent" not in request.headers:
            return "403", _failed(403, b"Say who you are: set a User-Agent.")
        if request.path != PATH:
            return "404", _failed(404, _PAGE)
        if not self._within_limit():
            headers = {"Content-Type": "text/plain"} | ({"Retry-After": self.retry_after} if self.retry_after else {})
            return "429", Reply(status=429, body=b"Too many requests.", headers=headers)
        if self.fail_share and self._chance.random() < self.fail_share:
            return self._failure()
        if self.lag_seconds is not None and self.lag_seconds > float(request.fields.get("maxlag", "inf")):
            return "maxlag", self._lagging()
        code, data = self._data(request.fields)
        return code, Reply(body=orjson.dumps(data), delay_seconds=self.latency_seconds)

    def _within_limit(self) -> bool:
        """No more than that many in any second; those that were refused do not count."""
        now = monotonic()
        while self._served and self._served[0] <= now - 1.0:
            self._served.popleft()
        if self.per_second is not None and len(self._served) >= self.per_second:
            return False
        self._served.append(now)
        self.most_in_a_second = max(self.most_in_a_second, len(self._served))
        return True

    def _failure(self) -> tuple[str, Reply]:
        kind = self._chance.choice(self.failures)
        if kind == "timeout":
            return kind, Reply(body=b"", never=True)
        if kind == "html":
            return kind, _failed(200, _PAGE)
        return kind, _failed(int(kind), _PAGE)

    def _lagging(self) -> Reply:
        info = f"Waiting for a copy: {self.lag_seconds} seconds lagged."
        headers = {"Retry-After": self.retry_after} if self.retry_after else {}
        return Reply(
            body=orjson.dumps({"error": {"code": "maxlag", "info": info, "lag": self.lag_seconds}}), headers=headers
        )

    def _data(self, fields: Any) -> tuple[str, dict[str, Any]]:
        match fields.get("action"):
            case "wbsearchentities":
                return self._search(fields)
            case "wbgetentities":
                return self._entities(fields)
        return _error("badvalue", 'Unrecognized value for parameter "action".')

    def _search(self, fields: Any) -> tuple[str, dict[str, Any]]:
        if not fields.get("search") or not fields.get("language"):
            return _error("missingparam", "A parameter is missing.")
        if len(fields["search"]) > 250:
            return _error("param-invalid", "The text is too long.")
        limit, start = int(fields.get("limit", 7)), int(fields.get("continue", 0))
        hits = self.world.search(fields["search"], fields["language"])
        data: dict[str, Any] = {"searchinfo": {"search": fields["search"]}, "search": hits[start : start + limit]}
        if start + limit < len(hits):
            data["search-continue"] = start + limit
        return "200", data | {"success": 1}

    def _entities(self, fields: Any) -> tuple[str, dict[str, Any]]:
        ids = fields.get("ids", "").split("|")
        if len(ids) > _MOST:
            return _error("toomanyvalues", "Too many values supplied for parameter ids.")
        for id in ids:
            if not id[1:].isdigit() or int(id[1:]) > 2**31 - 1:
                return _error("no-such-entity", f'Could not find an entity with the ID "{id}".', id=id)
        props, codes = fields.get("props", "").split("|"), fields.get("languages")
        wanted = None if codes is None else set(codes.split("|"))
        return "200", {"entities": {id: self._entity(id, props, wanted) for id in ids}, "success": 1}

    def _entity(self, id: str, props: list[str], languages: set[str] | None) -> dict[str, Any]:
        target = self.world.redirects.get(id, id)
        whole = self.world.entities.get(target)
        if whole is None:
            return {"id": id, "missing": True}
        told = {name: value for name, value in whole.items() if name not in _PROPS or name in props}
        if languages is not None:
            for name in _BY_LANGUAGE:
                if name in told:
                    told[name] = {code: term for code, term in told[name].items() if code in languages}
        return told if target == id else told | {"redirects": {"from": id, "to": target}}


def _failed(status: int, body: bytes) -> Reply:
    return Reply(status=status, body=body, headers={"Content-Type": "text/html; charset=utf-8"})


def _error(code: str, info: str, **more: str) -> tuple[str, dict[str, Any]]:
    return code, {"error": {"code": code, "info": info} | more}


def _question(request: Request) -> tuple[str, str]:
    match request.fields:
        case {"action": "wbsearchentities", "search": query, "language": language}:
            start = request.fields.get("continue")
            return "search", f"{language}|{query}" + (f"|{start}" if start else "")
        case {"action": "wbgetentities", "ids": ids}:
            return "entities", ids
    return "other", request.path


async def counts_of(url: str, *, reset: bool = False) -> dict[str, Any]:
    """Of a server that runs elsewhere; ``url`` as it was given to clients."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        answer = await client.get(url.removesuffix(PATH) + "/counts" + ("?reset=1" if reset else ""))
    return dict(json.loads(answer.content))


@asynccontextmanager
async def running(
    *,
    entities: int = 1000,
    per_second: float | None = None,
    fail_share: float = 0.0,
    latency_ms: float = 0.0,
    seed: int = 1,
) -> AsyncIterator[str]:
    """The address of a server in a process of its own about ``generated(entities)``. It ends with whoever began it."""
    options = {"--entities": entities, "--fail-share": fail_share, "--latency-ms": latency_ms, "--seed": seed}
    if per_second is not None:
        options["--per-second"] = per_second
    given = [str(part) for option in options.items() for part in option]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.extensions.wikidata_server", "--until-eof", *given),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()
        assert url, "the server did not come up"
        yield url
    finally:
        process.stdin.close()
        await process.wait()


async def _main() -> None:
    parser = argparse.ArgumentParser(description="A made-up Wikidata on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--entities", type=int, default=1000)
    parser.add_argument("--per-second", type=float)
    parser.add_argument("--fail-share", type=float, default=0.0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    given = parser.parse_args()
    server = WikidataServer(
        generated(given.entities),
        per_second=given.per_second,
        fail_share=given.fail_share,
        latency_seconds=given.latency_ms / 1000,
        seed=given.seed,
    )
    await server.start(given.port)
    print(server.url, flush=True)
    if given.until_eof:
        await asyncio.to_thread(sys.stdin.read)
        await server.stop()
    else:
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(_main())
    except KeyboardInterrupt:
        sys.exit(0)
