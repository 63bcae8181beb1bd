"""The HTTP side of every source: a permit per request, a deadline, no more bytes than we want to hold, and errors that
say what to do."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx2
import orjson

from penstock.apps.record_linking.sources.source import Budget, SourceMisconfigured
from penstock.apps.record_linking.sources.source_options import SourceOptions, origin_of
from penstock.apps.record_linking.sources.storable import storable_json
from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.providers.answer import AnswerTooLarge, Received, read_answer
from penstock.providers.json_client import json_client
from penstock.providers.refusal import refusal_of

_MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRY_LATER = frozenset({408, 425})
_LOGIN = frozenset({401, 403})
_THROTTLED = 429
# Parsed in a thread from here on, so that heartbeats and other requests are not held up.
_LARGE_BYTES = 256 * 1024
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)


class SourceClient:
    """One per source and process, so that ``concurrency`` counts all requests of it."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self.turns = asyncio.Semaphore(options.concurrency)
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def get(self, url: str, parameters: Mapping[str, str], limiter: Budget) -> tuple[Any, Received]:
        """Follows redirects within the configured host only; each of them is a request and takes a permit."""
        async with self.turns:
            target = _target(url, parameters)
            for _ in range(_MOST_REDIRECTS + 1):
                received = await self._send("GET", target, limiter)
                if received.status not in _REDIRECTS:
                    return await self._data(received), received
                target = self._next(target, received)
        raise SourceMisconfigured(
            f"{self.options.host} redirected more than {_MOST_REDIRECTS} times. Check {self.options.setting}."
        )

    async def post(
        self, url: str, form: Mapping[str, str], limiter: Budget, headers: Mapping[str, str]
    ) -> tuple[Any, Received]:
        """The permit was taken by the caller, who knows what to ask only once there is one; turns are the caller's
        too. A redirect is not followed: what was posted is for the configured address."""
        received = await self._send("POST", httpx2.URL(url), limiter, form=form, headers=headers, permit=False)
        if received.status in _REDIRECTS:
            self._next(httpx2.URL(url), received)
            raise SourceMisconfigured(
                f"{self.options.host} answered with a redirect. Put the final address into {self.options.setting}."
            )
        return await self._data(received), received

    async def _send(
        self,
        method: str,
        url: httpx2.URL,
        limiter: Budget,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        permit: bool = True,
    ) -> Received:
        """Any answer that is neither a refusal nor a failure; redirects are the caller's."""
        if permit:
            await limiter.acquire()
        received = await self._received(method, url, form, headers)
        wait = await limiter.learn(received.headers, received.status)
        host, status = self.options.host, received.status
        if status == _THROTTLED or (status >= 500 and wait):
            raise ThrottledError(
                f"{host} answered {status} and asked to slow down.", retry_after=wait or 1.0, key=self.options.key
            )
        if status >= 500 or status in _TRY_LATER:
            raise TransientError(f"{host} answered {status}.")
        if status in _LOGIN:
            raise SourceMisconfigured(
                f"{host} answered {status}{_said(received)}. Check {self.options.setting}, and that"
                " PENSTOCK_LINKING_USER_AGENT says who you are."
            )
        if status >= 400:
            raise PermanentError(f"{host} answered {status}{_said(received)}. Check {self.options.setting}.")
        return received

    async def _received(
        self, method: str, url: httpx2.URL, form: Mapping[str, str] | None, headers: Mapping[str, str] | None
    ) -> Received:
        host, seconds = self.options.host, self.options.timeout_seconds
        try:
            async with (
                asyncio.timeout(seconds),
                self._opened().stream(method, url, data=form, headers=headers) as answer,
            ):
                return await read_answer(answer, self.options.most_bytes)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise TransientError(
                f"{host} cannot be reached ({type(error).__name__}). Check that it runs, and {self.options.setting}."
            ) from None
        except (TimeoutError, httpx2.TimeoutException):
            raise TransientError(f"{host} took longer than {seconds:g} s to answer.") from None
        except AnswerTooLarge:
            raise PermanentError(
                f"The answer of {host} is larger than {self.options.most_bytes:,} bytes. Check {self.options.setting}:"
                " a source does not answer so much."
            ) from None
        except httpx2.HTTPError as error:
            raise TransientError(f"The connection to {host} broke ({type(error).__name__}).") from None
        except (httpx2.InvalidURL, UnicodeError):
            raise SourceMisconfigured(f"The address in {self.options.setting} cannot be asked. Correct it.") from None

    def _next(self, url: httpx2.URL, received: Received) -> httpx2.URL:
        target = ""
        try:
            target = urljoin(str(url), received.headers.get("location", ""))
            stays = "location" in received.headers and origin_of(target) == self.options.origin
        except ValueError:
            stays = False
        if not stays:
            raise SourceMisconfigured(
                f"{self.options.host} answered with a redirect to another place, which is not followed. Put the final"
                f" address into {self.options.setting}."
            )
        return httpx2.URL(target)

    async def _data(self, received: Received) -> Any:
        try:
            if len(received.body) > _LARGE_BYTES:
                return await asyncio.to_thread(storable_json, received.body)
            return storable_json(received.body)
        except orjson.JSONDecodeError:
            raise TransientError(_no_json(self.options.host, received)) from None

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = json_client(None, self.options.timeout_seconds)
            self._client.headers["User-Agent"] = self.options.user_agent
            # Answers of sources are texts of megabytes; the size is capped after unpacking.
            self._client.headers["Accept-Encoding"] = "gzip"
            # Forms bring their own.
            del self._client.headers["Content-Type"]
        return self._client


def _target(url: str, parameters: Mapping[str, str]) -> httpx2.URL:
    """Parsed once: that is a tenth of what a small request costs."""
    if not parameters:
        return httpx2.URL(url)
    return httpx2.URL(f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}")


def _said(received: Received) -> str:
    message = refusal_of(received.body, None).message
    return f" ({message})" if message else ""


def _no_json(host: str, received: Received) -> str:
    kind = received.headers.get("content-type", "").partition(";")[0].strip().casefold()
    body = received.body.lstrip()
    if kind == "text/html" or body[:1] == b"<":
        title = _TITLE.search(body)
        named = "" if title is None else f" titled {' '.join(title.group(1).decode('utf-8', 'replace').split())!r}"
        return f"{host} answered with a web page{named} in the place of JSON."
    return f"The answer of {host} is no JSON ({len(received.body):,} bytes of {kind or 'no kind'})."
