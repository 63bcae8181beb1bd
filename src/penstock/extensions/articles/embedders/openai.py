"""An embedder behind an OpenAI-compatible endpoint: one POST per batch, within what the other side allows."""

import asyncio
from time import monotonic
from types import SimpleNamespace

import httpx2
import orjson

from penstock import Penstock, ThrottledError
from penstock.brokers.budgets import budgets_of
from penstock.control import limits
from penstock.extensions.articles.embedders.embedder import Purpose, Vectors
from penstock.extensions.articles.embedders.options import Options
from penstock.extensions.articles.embedders.reply import (
    NotNumbers,
    Unreadable,
    WrongDimensions,
    is_quota,
    most_bytes,
    refusal,
    vectors_of,
)
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderExhausted, EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.settings import ArticleSettings
from penstock.limits.limiter import Limiters
from penstock.providers.answer import AnswerTooLarge, Received, read_answer
from penstock.providers.circuit import Circuit
from penstock.providers.json_client import json_client
from penstock.providers.rate_headers import of_requests

# An article is tried again after 1, 2 and 4 s: a longer pause would fail it though the endpoint is back. A search
# goes on by words alone, so it may spare itself the wait for longer.
_CIRCUITS = {"document": Circuit(limit=5, pause_seconds=1.0), "query": Circuit(limit=3, pause_seconds=5.0)}
_HOLD_SECONDS = {"document": 2.0, "query": 0.25}
# Before the search gives up by itself: so the circuit learns of it.
_QUERY_SHARE = 0.9
_LARGE_BYTES = 256 * 1024


class OpenAIModel:
    """One per process. Documents and queries have circuits of their own: the wait for a query is short, and that it
    was too short says nothing about documents."""

    def __init__(self, options: Options, app: Penstock) -> None:
        self._options = options
        self._app = app
        self._client: httpx2.AsyncClient | None = None
        self._circuits = dict(_CIRCUITS)
        # What a limiter needs of a pool, from the application, whose own pool is opened when it is first used.
        pool = SimpleNamespace(acquire=app.connection)
        self._budgets = budgets_of(app.settings, pool, app.events)
        self._limiters = {
            purpose: Limiters(pool, app.events, hold_seconds=hold, budgets=self._budgets).of(options.limiter_key)
            for purpose, hold in _HOLD_SECONDS.items()
        }
        self._limit_told = False

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await self._budgets.close()

    async def embed(self, texts: list[str], purpose: Purpose) -> Vectors:
        self._check_circuit(purpose)
        await self._tell_limit()
        await self._limiters[purpose].acquire()
        self._check_circuit(purpose)
        self._circuits[purpose] = self._circuits[purpose].asked(monotonic())
        try:
            vectors = await self._ask(texts, purpose)
        except EmbedderBusy as busy:
            # A document that makes the endpoint fail is looked for with further calls, which have to go out.
            circuit = self._circuits[purpose]
            counts = purpose == "query" or not busy.reached
            self._circuits[purpose] = circuit.failed(monotonic()) if counts else circuit.succeeded()
            raise
        except Exception:
            self._circuits[purpose] = self._circuits[purpose].succeeded()  # it is there; it only said no
            raise
        self._circuits[purpose] = self._circuits[purpose].succeeded()
        return vectors

    def _check_circuit(self, purpose: Purpose) -> None:
        circuit = self._circuits[purpose]
        wait = circuit.wait_seconds(monotonic())
        if wait > 0:
            failed = f"{self._options.host} failed {circuit.failures} times in a row"
            sentence = f"{failed}; it is asked again in {wait:.1f} s."
            if purpose == "document":
                # Nobody was asked, so that nothing failed: it waits for its turn and burns no attempt.
                raise ThrottledError(sentence, retry_after=wait)
            raise EmbedderBusy(sentence)

    async def _tell_limit(self) -> None:
        """The file counts from the first text of a process; `penstock limits set` changes it until then."""
        per_minute = self._options.requests_per_minute
        if per_minute is not None and not self._limit_told:
            key, burst = self._options.limiter_key, self._options.burst
            await limits.configure(self._app, key, per_minute / 60, burst, by="article_search")
        self._limit_told = True

    async def _ask(self, texts: list[str], purpose: Purpose) -> Vectors:
        try:
            received = await self._post(texts, self._timeout_seconds(purpose))
            if received.status != 200:
                raise refusal(received, self._options, await self._learn(received, purpose))
            await self._learn(received, purpose)
            return await self._vectors(received.body, len(texts))
        except MemoryError:
            raise EmbedderExhausted(
                f"There was not enough memory for the vectors of {len(texts):,} texts. Lower most_texts of embedder"
                f" {self._options.name!r}, or give the worker more memory."
            ) from None

    async def _post(self, texts: list[str], timeout_seconds: float) -> Received:
        """Errors never quote what was sent. No redirect is followed: key and trust are for the configured host."""
        host, most = self._options.host, most_bytes(len(texts), self._options.dimensions)
        body: dict[str, object] = {"model": self._options.model, "input": texts, "encoding_format": "float"}
        if self._options.send_dimensions:
            body["dimensions"] = self._options.dimensions
        if self._client is None:
            self._client = json_client(self._options.key, self._options.timeout_seconds)
        try:
            async with (
                asyncio.timeout(timeout_seconds),
                self._client.stream("POST", f"{self._options.url}/embeddings", content=orjson.dumps(body)) as answer,
            ):
                return await read_answer(answer, most)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise EmbedderBusy(f"{host} cannot be reached ({type(error).__name__}).") from None
        except (TimeoutError, httpx2.TimeoutException):
            raise EmbedderBusy(f"{host} took longer than {timeout_seconds:g} s to answer.") from None
        except AnswerTooLarge:
            raise EmbedderMisconfigured(
                f"The answer of {host} is larger than {most:,} bytes, which is more than vectors of"
                f" {self._options.dimensions} numbers can need. Check url, model and dimensions of embedder"
                f" {self._options.name!r}."
            ) from None
        except httpx2.HTTPError as error:
            raise EmbedderBusy(f"The connection to {host} broke ({type(error).__name__}).") from None
        except (httpx2.InvalidURL, UnicodeError):
            raise EmbedderMisconfigured(
                f"The address of embedder {self._options.name!r} cannot be asked. Check its url."
            ) from None

    def _timeout_seconds(self, purpose: Purpose) -> float:
        most, settings = self._options.timeout_seconds, self._app.settings.of(ArticleSettings)
        return most if purpose == "document" else min(most, settings.query_timeout_seconds * _QUERY_SHARE)

    async def _learn(self, received: Received, purpose: Purpose) -> float:
        """Their headers slow everybody who asks them, and nobody else."""
        if is_quota(received, self._options):
            return 0.0
        return await self._limiters[purpose].learn(of_requests(received.headers), received.status) or 0.0

    async def _vectors(self, body: bytes, texts: int) -> Vectors:
        host = self._options.host
        try:
            if len(body) > _LARGE_BYTES:
                return await asyncio.to_thread(vectors_of, body, texts, self._options.dimensions)
            return vectors_of(body, texts, self._options.dimensions)
        except Unreadable as problem:
            raise EmbedderBusy(f"The answer of {host} cannot be used: {problem}.", reached=True) from None
        except NotNumbers as made:
            raise TextRefused(
                f"The model {self._options.model!r} at {host} made {made} of a text. Change the text."
            ) from None
        except WrongDimensions as wrong:
            raise EmbedderMisconfigured(
                f"The model {self._options.model!r} at {host} makes vectors of {wrong.dimensions:,} numbers, and"
                f" embedder {self._options.name!r} says dimensions = {self._options.dimensions:,}. Correct dimensions"
                " or model in the embedders file; an index of other dimensions is built as a new generation."
            ) from None
