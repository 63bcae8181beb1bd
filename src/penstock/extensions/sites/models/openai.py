"""A model behind an OpenAI-compatible endpoint: one POST per question, within what the other side allows."""

import asyncio
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import httpx2
import orjson

from penstock import Context, Penstock
from penstock.console.files.sources.guard import HostRefused, checked_host
from penstock.control import limits
from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.extensions.sites.findings import Answer
from penstock.extensions.sites.models.model import AnswerLost, EndpointDown, ModelRefused, Question
from penstock.extensions.sites.models.models_file import Endpoint
from penstock.providers.answer import AnswerTooLarge, Received, read_answer
from penstock.providers.circuit import Circuit
from penstock.providers.json_client import json_client
from penstock.providers.rate_headers import of_requests, of_tokens
from penstock.providers.refusal import refusal_of, without

LONGEST_TEXT = 20_000
_LONGEST_MESSAGE = 200
_MOST_TOKENS = 100_000_000
_FILTERED = "content_filter"
MOST_BYTES = 1024 * 1024
CIRCUIT_FAILURES = 5
CIRCUIT_SECONDS = 10.0
# So many answers 429 in a row, each waited for as it asked, and it counts as down: no site waits for ever.
PATIENCE = 20
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


class Unreadable(Exception):
    """Not the JSON of a chat completion; the message says what was wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """``tokens_in`` and ``tokens_out`` None: the endpoint did not say. ``cut``: it ended at the longest length."""

    text: str | None
    problem: str | None
    cut: bool
    tokens_in: int | None
    tokens_out: int | None


def reply_of(body: bytes) -> ModelReply:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Unreadable("it is no JSON") from None
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list):
        raise Unreadable("it has no list of choices")
    if not choices:
        raise Unreadable("its list of choices is empty")
    first = choices[0]
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict) or "content" not in message:
        raise Unreadable("its first choice has no message with a content")
    text, problem = _said(message, first.get("finish_reason"))
    usage = given if isinstance(given := data.get("usage"), dict) else {}
    return ModelReply(
        text=text,
        problem=problem,
        cut=first.get("finish_reason") == "length",
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
    )


def estimated_tokens(text: str) -> int:
    """About four bytes make a token; more rather than less."""
    return len(text.encode("utf-8", "replace")) // 4 + 8


def most_tokens(text: str) -> int:
    return most_tokens_of(1, len(text.encode("utf-8", "replace")))


def most_tokens_of(questions: int, question_bytes: int) -> int:
    """No tokenizer makes more tokens than there are bytes; the frame of a message takes a few more."""
    return question_bytes + 32 * questions


def _said(message: dict[str, Any], finish: object) -> tuple[str | None, str | None]:
    text = _text(message["content"])
    if finish == _FILTERED:
        return None, "The provider's filter held the answer back."
    if text:
        return text, None
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return None, f"The model refused to answer: {_storable(refusal)[:_LONGEST_MESSAGE]}"
    if finish == "length":
        return None, "The model used up max_tokens before it said anything. Raise max_tokens in the models file."
    return None, "The model's answer was empty."


def _text(content: object) -> str | None:
    """A text, or a list of parts of which some are text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if content is None:
        return None
    if not isinstance(content, str):
        raise Unreadable("the content of its message is no text")
    return _storable(content)[:LONGEST_TEXT].strip() or None


def _storable(text: str) -> str:
    return text.replace("\0", "")


def _count(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if isinstance(value, int) and whole and 0 <= value <= _MOST_TOKENS else None


class EndpointModel:
    """Shared by all sites of a process: its limit of calls at once, its circuit and its connections."""

    def __init__(self, endpoint: Endpoint, app: Penstock) -> None:
        self.endpoint = endpoint
        self.name, self.version = endpoint.name, endpoint.version
        self.concurrency = endpoint.concurrency
        self.turns = asyncio.Semaphore(endpoint.concurrency)
        self._app = app
        self._client: httpx2.AsyncClient | None = None
        self._circuit = Circuit(limit=CIRCUIT_FAILURES, pause_seconds=CIRCUIT_SECONDS)
        self._throttled_in_a_row = 0
        self._limits_told = False

    def worst_cost(self, question: Question) -> float:
        return self.endpoint.cost(most_tokens(question.prompt.text), self.endpoint.max_tokens)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def ask(self, question: Question, ctx: Context) -> Answer:
        if self.endpoint.problem is not None:
            raise ModelRefused(self.endpoint.problem)
        self._check_circuit()
        await self._wait_for_budget(question, ctx)
        self._check_circuit()
        began = monotonic()
        self._circuit = self._circuit.asked(began)
        try:
            received = await self._exchange(self._body(question))
            reply = await self._judged(received, ctx)
        except (ThrottledError, PermanentError):
            self._circuit = self._circuit.succeeded()  # it is there; it only said no
            raise
        except TransientError:
            self._circuit = self._circuit.failed(monotonic())
            raise
        self._circuit = self._circuit.succeeded()
        self._throttled_in_a_row = 0
        return self._answer(question, reply, monotonic() - began)

    def _check_circuit(self) -> None:
        if self._circuit.wait_seconds(monotonic()) > 0:
            raise EndpointDown(
                f"{self.endpoint.host} failed {self._circuit.failures} times in a row; it is asked again later."
            )

    async def _wait_for_budget(self, question: Question, ctx: Context) -> None:
        """A question that is larger than the whole burst takes all of it, instead of waiting for ever."""
        await self._tell_limits()
        weight = estimated_tokens(question.prompt.text) + self.endpoint.max_tokens
        await ctx.limiter(self.endpoint.requests_key).acquire()
        await ctx.limiter(self.endpoint.tokens_key).acquire(min(weight, self.endpoint.tokens_burst))

    async def _tell_limits(self) -> None:
        """The models file counts from the first question of a process; `penstock limits set` changes it until then."""
        if self._limits_told:
            return
        one = self.endpoint
        rates = (
            (one.requests_key, one.requests_per_minute, one.requests_burst),
            (one.tokens_key, one.tokens_per_minute, one.tokens_burst),
        )
        for key, per_minute, burst in rates:
            if per_minute is not None:
                await limits.configure(self._app, key, per_minute / 60, burst, by="website_analysis")
        self._limits_told = True

    async def _exchange(self, body: bytes) -> Received:
        """Tells a question that never went out, which costs nothing, from an answer that got lost."""
        host, limit = self.endpoint.host, self.endpoint.timeout_seconds
        try:
            async with asyncio.timeout(limit):
                address = await self._address()
                return await self._post(address, body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise TransientError(f"{host} cannot be reached ({type(error).__name__}).") from None
        except (TimeoutError, httpx2.TimeoutException):
            raise AnswerLost(f"{host} took longer than {limit:g} s to answer.") from None
        except AnswerTooLarge:
            raise AnswerLost(f"The answer of {host} is larger than {MOST_BYTES:,} bytes.") from None
        except httpx2.HTTPError as error:
            raise AnswerLost(f"The connection to {host} broke ({type(error).__name__}).") from None

    async def _address(self) -> str:
        host = self.endpoint.host
        try:
            return await checked_host(host, self.endpoint.private)
        except HostRefused:
            await self._resolvable(host)
            raise ModelRefused(
                f"The endpoint of model {self.endpoint.name!r} is not asked: {host} is an address of a private, local"
                " or reserved network. List it in PENSTOCK_SITES_ALLOWED_HOSTS (host or host:port), or set"
                " PENSTOCK_PRIVATE_NETWORKS=true."
            ) from None

    async def _resolvable(self, host: str) -> None:
        """A name server may be away for a moment; an address of our own network stays one."""
        try:
            await checked_host(host, True)
        except HostRefused:
            raise TransientError(f"The name {host} of model {self.endpoint.name!r} cannot be resolved.") from None

    async def _post(self, address: str, body: bytes) -> Received:
        """Connects to the very address that was checked; the name goes along for the certificate. Follows no redirect:
        key and trust are for the configured host."""
        host, port = self.endpoint.host, self.endpoint.port
        target = httpx2.URL(f"{self.endpoint.url}/chat/completions").copy_with(host=address)
        named = f"[{host}]" if ":" in host else host
        headers = {"Host": named if port is None else f"{named}:{port}"}
        extensions = {"sni_hostname": host}
        if self._client is None:
            self._client = json_client(self.endpoint.key, self.endpoint.timeout_seconds)
        asked = self._client.stream("POST", target, content=body, headers=headers, extensions=extensions)
        async with asked as answer:
            return await read_answer(answer, MOST_BYTES)

    def _body(self, question: Question) -> bytes:
        body: dict[str, object] = {
            "model": self.endpoint.model,
            "messages": [{"role": "user", "content": question.prompt.text}],
            self.endpoint.tokens_parameter: self.endpoint.max_tokens,
            "stream": False,
        }
        if self.endpoint.temperature is not None:
            body["temperature"] = self.endpoint.temperature
        return orjson.dumps(body)

    async def _judged(self, received: Received, ctx: Context) -> ModelReply:
        """A good answer; everything else is an error of the fitting class."""
        wait = await self._learn(received, ctx)
        if received.status == 200:
            try:
                reply = reply_of(received.body)
            except Unreadable as error:
                raise AnswerLost(f"The answer of {self.endpoint.host} cannot be used: {error}.") from None
            text, problem = (said and without(said, self.endpoint.key) for said in (reply.text, reply.problem))
            return replace(reply, text=text, problem=problem)
        raise self._refusal(received, wait)

    async def _learn(self, received: Received, ctx: Context) -> float:
        """Their headers slow everybody who asks them."""
        waits = [await ctx.limiter(self.endpoint.requests_key).learn(of_requests(received.headers), received.status)]
        if tokens := of_tokens(received.headers):
            waits.append(await ctx.limiter(self.endpoint.tokens_key).learn(tokens))
        return max((wait for wait in waits if wait is not None), default=0.0)

    def _refusal(self, received: Received, wait: float) -> Exception:
        one, status = self.endpoint, received.status
        said = refusal_of(received.body, one.key)
        words = f" ({said.message})" if said.message else ""
        if status == 429 and said.code not in _NO_CREDIT:
            self._throttled_in_a_row += 1
            if self._throttled_in_a_row > PATIENCE:
                return EndpointDown(f"{one.host} asked to slow down {self._throttled_in_a_row} times in a row.")
            return ThrottledError(f"{one.host} asked to slow down.", retry_after=wait or 1.0)
        if status >= 500 or status in (408, 425):
            return TransientError(f"{one.host} answered {status}.")
        if status in (401, 403):
            # Without their words: some repeat the key.
            return ModelRefused(f"{one.host} refused the key of model {one.name!r} ({status}). Check {self._key()}.")
        if status in (402, 429):
            return ModelRefused(f"The account at {one.host} has no credit left ({status}). Check its billing.")
        if status == 404:
            return ModelRefused(f"{one.host} knows no model {one.model!r} at {one.url} (404). Check url and model.")
        if 300 <= status < 400:
            return ModelRefused(f"{one.host} sends callers elsewhere ({status}). Put the final address into url.")
        return PermanentError(f"{one.host} did not take the question ({status}){words}.")

    def _key(self) -> str:
        if self.endpoint.key_variable is None:
            return "whether it needs a key: the models file names no key_variable for it"
        return f"the variable {self.endpoint.key_variable}"

    def _answer(self, question: Question, reply: ModelReply, took_seconds: float) -> Answer:
        tokens_in, tokens_out = reply.tokens_in, reply.tokens_out
        details: dict[str, object] = {"cut": True} if reply.cut else {}
        if tokens_in is None or tokens_out is None:
            details["tokens_estimated"] = True
            tokens_in = estimated_tokens(question.prompt.text) if tokens_in is None else tokens_in
            tokens_out = estimated_tokens(reply.text or "") if tokens_out is None else tokens_out
        return Answer(
            prompt=question.prompt.key,
            model=self.name,
            sample=question.sample,
            text=reply.text,
            problem=reply.problem,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=self.endpoint.cost(tokens_in, tokens_out),
            took_ms=round(took_seconds * 1000),
            details=details,
        )
