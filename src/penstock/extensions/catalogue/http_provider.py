"""A provider behind HTTP: one GET per question, JSON back, and every courtesy a stranger's server may expect."""

import asyncio
from time import monotonic
from typing import Any

import httpx2
import orjson

from penstock import Context, Penstock
from penstock.console.files.sources.guard import HostRefused, checked_host
from penstock.control import limits
from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.extensions.catalogue import products
from penstock.extensions.catalogue.http_answer import answer_of, refusal_in
from penstock.extensions.catalogue.http_options import HttpOptions
from penstock.extensions.catalogue.pacing import Outcome, Pacing
from penstock.extensions.catalogue.provider import Answer, Hit, NotAsked, Query, Rejected
from penstock.extensions.catalogue.settings import CatalogueSettings
from penstock.extensions.catalogue.verifying import by_number, by_text, texts_of
from penstock.providers.answer import AnswerTooLarge, Received, read_answer
from penstock.providers.circuit import Circuit
from penstock.providers.http_transport import HttpTransport
from penstock.providers.origin import MOST_REDIRECTS, REDIRECTS, redirected

_SHORTEST_WAIT_SECONDS = 0.5
_MISSES = frozenset({204, 404, 410})


class HttpProvider:
    """Waits for the fleet's budget, its own pace and the circuit; a wait that would be long sends the task back."""

    def __init__(self, options: HttpOptions, app: Penstock, *, name: str = "http") -> None:
        self.name = name
        self.cost = options.own.http_cost
        self._options = options
        self._app = app
        self._circuit = Circuit(limit=options.own.http_circuit_failures, pause_seconds=options.own.http_circuit_seconds)
        self._pacing = Pacing(most=options.own.http_concurrency, slow_ms=options.own.http_timeout_seconds * 500)
        self._client: httpx2.AsyncClient | None = None
        self._limit_told = False

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def serves(self, query: Query) -> bool:
        """Where the address has several places, a question fills all of them."""
        return set(self._options.values(query)) == self._options.places

    async def look_up(self, query: Query, ctx: Context) -> Hit | Rejected | None:
        await self._tell_limit()
        self._check_circuit()
        async with self._pacing.turn():
            try:
                await ctx.limiter(self._options.key).acquire()
            except ThrottledError as busy:
                raise NotAsked(str(busy), retry_after=busy.retry_after) from None
            self._check_circuit()
            answer = await self._ask(query, ctx)
        return None if answer is None else await self._verified(query, answer)

    async def _verified(self, query: Query, answer: Answer) -> Hit | Rejected:
        if (decided := by_number(query, answer)) is not None:
            return decided
        texts, likeness = texts_of(query, answer), None
        if texts is not None:
            async with self._app.connection() as connection:
                likeness = await products.likeness(connection, texts)
        return by_text(query, answer, texts, likeness, self._app.settings.of(CatalogueSettings).match_threshold)

    async def _tell_limit(self) -> None:
        """The setting counts from the first question of a process; `penstock limits set` changes it until then."""
        if not self._limit_told:
            rate = self._options.own.http_per_second
            known = {view.key: view.rate for view in await limits.listing(self._app)}
            if known.get(self._options.key) != rate:
                await limits.configure(self._app, self._options.key, rate, max(1, int(rate)), by="catalogue")
            self._limit_told = True

    def _check_circuit(self) -> None:
        wait = self._circuit.wait_seconds(monotonic())
        if wait > 0:
            raise NotAsked(
                f"{self._options.origin[1]} did not answer {self._circuit.failures} times; asking again later",
                retry_after=max(wait, _SHORTEST_WAIT_SECONDS),
            )

    async def _ask(self, query: Query, ctx: Context) -> Answer | None:
        self._circuit = self._circuit.asked(monotonic())
        since = monotonic()
        try:
            async with asyncio.timeout(self._options.own.http_timeout_seconds):
                received = await self._get(self._options.address(query))
            data = await self._data(received, ctx)
        except ThrottledError:
            self._circuit = self._circuit.succeeded()  # it answers; it is only busy
            self._pacing.ended(Outcome.THROTTLED, monotonic() - since)
            raise
        except httpx2.InvalidURL as error:
            self._circuit = self._circuit.succeeded()  # nobody was asked, so nobody failed
            raise PermanentError(f"The address made from this row cannot be asked: {error}") from None
        except (TransientError, TimeoutError, httpx2.HTTPError, HostRefused) as error:
            self._circuit = self._circuit.failed(monotonic())
            self._pacing.ended(Outcome.FAILED, monotonic() - since)
            raise self._no_answer(error) from None
        except PermanentError:
            self._circuit = self._circuit.succeeded()
            raise
        self._circuit = self._circuit.succeeded()
        self._pacing.ended(Outcome.OK, monotonic() - since)
        return answer_of(data, self._options.paths)

    def _no_answer(self, error: Exception) -> TransientError:
        if isinstance(error, TransientError):
            return error
        host = self._options.origin[1]
        if isinstance(error, TimeoutError | httpx2.TimeoutException):
            return TransientError(f"{host} took longer than {self._options.own.http_timeout_seconds:g} s to answer.")
        if isinstance(error, HostRefused):
            return TransientError(str(error))
        return TransientError(f"{host} gave no answer ({type(error).__name__}).")

    async def _get(self, url: str) -> Received:
        """Follows redirects to the same origin only: our headers and our trust are for the configured host."""
        for _ in range(MOST_REDIRECTS + 1):
            received = await self._get_once(url)
            if received.status not in REDIRECTS or "location" not in received.headers:
                return received
            target = redirected(url, received.headers["location"], self._options.origin)
            if target is None:
                raise PermanentError(
                    f"{self._options.origin[1]} answered with a redirect to another place, which is not followed."
                    " Put the final address into PENSTOCK_CATALOGUE_HTTP_URL."
                )
            url = target
        raise PermanentError(f"{self._options.origin[1]} redirected more than {MOST_REDIRECTS} times.")

    async def _get_once(self, url: str) -> Received:
        """Connects to the very address that was checked; the name goes along for the certificate."""
        _, host, port = self._options.origin
        address = await checked_host(host, self._options.private_networks)
        target = httpx2.URL(url).copy_with(host=address)
        named = {"Host": host if httpx2.URL(url).port is None else f"{host}:{port}"}
        extensions = {"sni_hostname": host}
        try:
            async with self._opened().stream("GET", target, headers=named, extensions=extensions) as answer:
                return await read_answer(answer, self._options.own.http_max_bytes)
        except AnswerTooLarge:
            raise PermanentError(
                f"The answer of {host} is larger than {self._options.own.http_max_bytes:,} bytes. Raise"
                " PENSTOCK_CATALOGUE_HTTP_MAX_BYTES, or ask for less."
            ) from None

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            sent = {"Accept": "application/json", "User-Agent": "penstock"} | dict(self._options.headers)
            self._client = httpx2.AsyncClient(
                transport=HttpTransport(),
                headers=sent,
                follow_redirects=False,
                trust_env=False,
                timeout=self._options.own.http_timeout_seconds,
            )
        return self._client

    async def _data(self, received: Received, ctx: Context) -> Any:
        """The JSON of a good answer, None for a miss; everything else is an error of the fitting class."""
        host, status = self._options.origin[1], received.status
        wait = await ctx.limiter(self._options.key).learn(received.headers, status)
        if status == 429:
            raise ThrottledError(f"{host} asked to slow down.", retry_after=wait or 1.0, key=self._options.key)
        if status in _MISSES:
            return None
        if status >= 500 or status == 408:
            raise TransientError(f"{host} answered {status}.")
        if status == 422 and (said := refusal_in(received.body)) is not None:
            raise PermanentError(f"{host} refused the question: {said}.")
        if status != 200:
            raise PermanentError(f"{host} answered {status}. Check PENSTOCK_CATALOGUE_HTTP_URL and its headers.")
        try:
            return orjson.loads(received.body)
        except orjson.JSONDecodeError as error:
            raise TransientError(f"The answer of {host} is no JSON: {error}.") from None
