"""A server on loopback that speaks the chat-completions API in every way such servers do, and an application that asks
it."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock import Context, Penstock
from penstock.closing import stop_listening
from penstock.config import load
from penstock.extensions.sites import answers
from penstock.extensions.sites.budgets import Budget
from penstock.extensions.sites.findings import Answer, Prompt, PromptKind, SiteFacts
from penstock.extensions.sites.models.asking import ask_all
from penstock.extensions.sites.models.registry import Models

KEY = "sk-test-0123456789abcdef"
FACTS = SiteFacts(
    url="https://bakery.example/",
    name="Corner Bakery Example",
    title="Corner Bakery Example",
    description=None,
    language="en",
    canonical=None,
)


@dataclass(slots=True)
class Said:
    """What the server does with one call. ``cut``: the connection ends after so many bytes of the body. ``drip``:
    seconds before each byte."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    held: asyncio.Event | None = None
    cut: int | None = None
    drip: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        text: str = self.body["messages"][-1]["content"]
        return text

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


def says(
    text: str | None,
    *,
    tokens_in: int = 10,
    tokens_out: int = 20,
    finish: str = "stop",
    usage: bool = True,
    **more: Any,
) -> Said:
    data: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
    }
    if usage:
        total = tokens_in + tokens_out
        data["usage"] = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": total}
    return Said(body=json.dumps(data).encode(), tokens=(tokens_in + tokens_out) if usage else 0, **more)


def refuses(status: int, message: str = "no", code: str | None = None, **headers: str) -> Said:
    error = {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Said(status=status, body=json.dumps(error).encode(), headers=named)


def raw(body: bytes, **more: Any) -> Said:
    return Said(body=body, **more)


class ModelServer:
    """``answer``: a function of the call. A call with another key than ``key`` is refused, as everywhere."""

    def __init__(self, answer: Callable[[Called], Said], *, key: str | None = KEY) -> None:
        self.answer = answer
        self.key = key
        self.calls: list[Called] = []
        self.tokens = 0
        self.most_at_once = self._at_once = 0
        self.port = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "ModelServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            called = await _read(reader)
            self.calls.append(called)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                said = self._said(called)
                if said.held is not None:
                    await said.held.wait()
                await asyncio.sleep(said.pause)
            finally:
                self._at_once -= 1
            self.tokens += said.tokens
            lines = [f"HTTP/1.1 {said.status} OK", f"Content-Length: {len(said.body)}", "Connection: close"]
            lines += [f"{name}: {value}" for name, value in said.headers.items()]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            body = said.body[: said.cut]
            for piece in [bytes([one]) for one in body] if said.drip else [body]:
                await asyncio.sleep(said.drip)
                writer.write(piece)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _said(self, called: Called) -> Said:
        if called.path != "/v1/chat/completions":
            return refuses(404, "no such path")
        if self.key is not None and called.key != self.key:
            return refuses(401, f"Incorrect API key provided: {called.key}.", "invalid_api_key")
        return self.answer(called)


async def _read(reader: asyncio.StreamReader) -> Called:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Called(path=head[0].split()[1], headers=headers, body=json.loads(body or b"{}"))


def prompt(text: str) -> Prompt:
    return Prompt(text=text, kind=PromptKind.TOPIC, fact=text, page=None, template="test/1")


def table(name: str, url: str, **more: Any) -> str:
    """One ``[[model]]`` of a models file."""
    given = {"name": name, "url": url, "model": f"{name}-large", "key_variable": "TEST_MODEL_KEY"} | more
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items() if value is not None]
    return "\n".join(["[[model]]", *lines, "", ""])


class ModelWorld:
    """A task ``ask`` that does what the stage model-analysis does with its models, and nothing else."""

    def __init__(self, database_url: str, folder: Path, tables: Sequence[str], **settings: Any) -> None:
        path = folder / "models.toml"
        path.write_text("\n".join(tables))
        self.environment = {"TEST_MODEL_KEY": KEY}
        given = {"sites_models_file": path, "sites_allowed_hosts": "127.0.0.1"} | settings
        self.app = Penstock("test", settings=load(database_url=database_url, **given))
        self.models: Models | None = None
        self.given: dict[int, list[Answer]] = {}
        self.told: list[tuple[float, float | None, str]] = []

        @self.app.task(name="ask", max_attempts=3)
        async def ask(ctx: Context, prompts: list[str], models: list[str], samples: int, budget: float) -> int:
            return await self._ask(ctx, prompts, models, samples, budget)

        self._task = ask

    async def _ask(self, ctx: Context, prompts: list[str], models: list[str], samples: int, most: float) -> int:
        if self.models is None:
            self.models = Models(self.app, self.environment)
        budget = await Budget.open(self.app, ctx.job_id or -ctx.task_id, most)
        self.given[ctx.task_id] = await ask_all(
            self.app,
            ctx,
            models=self.models.choose(models),
            prompts=[prompt(text) for text in prompts],
            samples=samples,
            facts=FACTS,
            budget=budget,
        )
        return len(self.given[ctx.task_id])

    async def __aenter__(self) -> "ModelWorld":
        await self.app.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        if self.models is not None:
            await self.models.close()
        await self.app.close()

    async def ask(self, prompts: Sequence[str], models: Sequence[str], *, samples: int = 1, budget: float = 1.0) -> int:
        """Enqueue; ``drain`` runs it. Returns the id of the task."""
        task = await self._task.enqueue(prompts=list(prompts), models=list(models), samples=samples, budget=budget)
        return int(task.id)

    async def stored(self, task_id: int, run: int = 1) -> list[Answer]:
        async with self.app.connection() as connection:
            return await answers.stored(connection, task_id, run)

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        async with self.app.connection() as connection:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows

    async def spent(self) -> list[float]:
        return [row["spent"] for row in await self.fetch("select spent from website_analysis.budgets order by job_id")]
