"""The HTTP side of every source: a permit per request, a deadline, no more bytes than we want to hold, and errors that
say what to do."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import orjson

from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.sources.source import Budget, SourceMisconfigured
from penstock.providers.answer import AnswerTooLarge, Received, read_answer
from penstock.providers.json_client import json_client
from penstock.providers.origin import MOST_REDIRECTS, PORTS, REDIRECTS, Origin, origin_of, redirected
from penstock.providers.own_network import is_own_network
from penstock.providers.refusal import refusal_of

_TRY_LATER = frozenset({408, 425})
_LOGIN = frozenset({401, 403})
_THROTTLED = 429
# Parsed in a thread from here on, so that heartbeats and other requests are not held up.
_LARGE_BYTES = 256 * 1024
_MOST_BYTES = 64 * 1024 * 1024
_USER_AGENT = "PENSTOCK_LINKING_USER_AGENT"
_EXAMPLE = "library-matching/1.0 (https://example.org/matching; data@example.org)"
# Pairs of backslashes and pairs of surrogates stand first, so that no half of one is taken for something else.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,200})", re.IGNORECASE)


class SourceClient:
    """One per source and process, so that the setting of concurrency counts all requests of it. ``setting``: the name
    of what holds the address, for sentences. Raises SourceMisconfigured."""

    def __init__(self, settings: LinkingSettings, *, key: str, url: str, setting: str) -> None:
        _check_address(url, setting)
        self.url = url
        self.setting = setting
        self.origin = origin_of(url)
        self._key = key
        self._user_agent = _user_agent(settings, self.origin)
        self._timeout_seconds = settings.timeout_seconds
        self._turns = asyncio.Semaphore(settings.concurrency)
        self._client: httpx2.AsyncClient | None = None

    @property
    def host(self) -> str:
        """For sentences: with its port, unless that is the usual one."""
        scheme, host, port = self.origin
        return host if port == PORTS.get(scheme) else f"{host}:{port}"

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def get(self, url: str, parameters: Mapping[str, str], limiter: Budget) -> tuple[Any, Received]:
        """Follows redirects within the configured host only; each of them is a request and takes a permit."""
        async with self._turns:
            target = _target(url, parameters)
            for _ in range(MOST_REDIRECTS + 1):
                await limiter.acquire()
                received = await self._send("GET", target, limiter)
                if received.status not in REDIRECTS:
                    return await self._data(received), received
                target = self._next(target, received)
        raise SourceMisconfigured(f"{self.host} redirected more than {MOST_REDIRECTS} times. Check {self.setting}.")

    async def post(self, form: Mapping[str, str], limiter: Budget, headers: Mapping[str, str]) -> Any:
        """The permit was taken by the caller, who knows what to ask only once there is one; turns are the caller's
        too. A redirect is not followed: what was posted is for the configured address."""
        url = httpx2.URL(self.url)
        received = await self._send("POST", url, limiter, form=form, headers=headers)
        if received.status in REDIRECTS:
            self._next(url, received)
            raise SourceMisconfigured(
                f"{self.host} answered with a redirect. Put the final address into {self.setting}."
            )
        return await self._data(received)

    async def _send(
        self,
        method: str,
        url: httpx2.URL,
        limiter: Budget,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Received:
        """Any answer that is neither a refusal nor a failure; permits and redirects are the caller's."""
        received = await self._received(method, url, form, headers)
        wait = await limiter.learn(received.headers, received.status)
        host, status = self.host, received.status
        if status == _THROTTLED or (status >= 500 and wait):
            raise ThrottledError(
                f"{host} answered {status} and asked to slow down.", retry_after=wait or 1.0, key=self._key
            )
        if status >= 500 or status in _TRY_LATER:
            raise TransientError(f"{host} answered {status}.")
        if status in _LOGIN:
            raise SourceMisconfigured(
                f"{host} answered {status}{_said(received)}. Check {self.setting}, and that"
                " PENSTOCK_LINKING_USER_AGENT says who you are."
            )
        if status >= 400:
            raise PermanentError(f"{host} answered {status}{_said(received)}. Check {self.setting}.")
        return received

    async def _received(
        self, method: str, url: httpx2.URL, form: Mapping[str, str] | None, headers: Mapping[str, str] | None
    ) -> Received:
        host, seconds = self.host, self._timeout_seconds
        try:
            async with (
                asyncio.timeout(seconds),
                self._opened().stream(method, url, data=form, headers=headers) as answer,
            ):
                return await read_answer(answer, _MOST_BYTES)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise TransientError(
                f"{host} cannot be reached ({type(error).__name__}). Check that it runs, and {self.setting}."
            ) from None
        except (TimeoutError, httpx2.TimeoutException):
            raise TransientError(f"{host} took longer than {seconds:g} s to answer.") from None
        except AnswerTooLarge:
            raise PermanentError(
                f"The answer of {host} is larger than {_MOST_BYTES:,} bytes. Check {self.setting}:"
                " a source does not answer so much."
            ) from None
        except httpx2.HTTPError as error:
            raise TransientError(f"The connection to {host} broke ({type(error).__name__}).") from None
        except (httpx2.InvalidURL, UnicodeError):
            raise SourceMisconfigured(f"The address in {self.setting} cannot be asked. Correct it.") from None

    def _next(self, url: httpx2.URL, received: Received) -> httpx2.URL:
        location = received.headers.get("location")
        target = None if location is None else redirected(str(url), location, self.origin)
        if target is None:
            raise SourceMisconfigured(
                f"{self.host} answered with a redirect to another place, which is not followed. Put the final"
                f" address into {self.setting}."
            )
        return httpx2.URL(target)

    async def _data(self, received: Received) -> Any:
        try:
            if len(received.body) > _LARGE_BYTES:
                return await asyncio.to_thread(storable_json, received.body)
            return storable_json(received.body)
        except orjson.JSONDecodeError:
            raise TransientError(_no_json(self.host, received)) from None

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = json_client(None, self._timeout_seconds)
            self._client.headers["User-Agent"] = self._user_agent
            # Answers of sources are texts of megabytes; the size is capped after unpacking.
            self._client.headers["Accept-Encoding"] = "gzip"
            # Forms bring their own.
            del self._client.headers["Content-Type"]
        return self._client


def storable_json(body: bytes) -> Any:
    """Without what PostgreSQL cannot keep, in texts, ids and names of fields alike: NUL characters and halves of
    characters. What is no JSON raises ``orjson.JSONDecodeError``."""
    if b"\\u0000" in body or b"\\ud" in body or b"\\uD" in body:
        body = _ESCAPES.sub(lambda found: b"" if found.group(1) else found.group(0), body)
    return orjson.loads(body)


def _user_agent(settings: LinkingSettings, origin: Origin) -> str:
    """Also a server on loopback wants to know who asks: so nobody forgets it later."""
    agent = (settings.user_agent or "").strip()
    if not agent:
        raise SourceMisconfigured(
            f"{_USER_AGENT} is not set, and {origin[1]} wants to know who asks. Set it to a name and an"
            f" address where you can be reached, such as {_EXAMPLE!r}, for the service and all workers."
        )
    if not agent.isascii() or not agent.isprintable():
        raise SourceMisconfigured(f"{_USER_AGENT} may hold printable ASCII characters only, such as {_EXAMPLE!r}.")
    return agent


def _check_address(url: str, setting: str) -> None:
    try:
        scheme, host, _ = origin_of(url)
        parts = urlsplit(url)
    except ValueError:
        raise SourceMisconfigured(f"{setting} is no address. Correct it.") from None
    if scheme not in PORTS or not host:
        raise SourceMisconfigured(f"{setting} has to begin with https:// or http:// and a host. Correct it.")
    if "@" in parts.netloc or parts.fragment:
        raise SourceMisconfigured(f"{setting} may hold neither a login nor a #. Leave them out.")
    if scheme == "http" and not is_own_network(host):
        raise SourceMisconfigured(
            f"{setting} asks {host} over http, and names of records go over http only to this machine or your own"
            " network. Use https."
        )


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
