"""The HTTP side of an embeddings endpoint: a deadline, and no more bytes than we want to hold."""

import asyncio

import httpx2

from penstock.apps.article_search.embedders.options import Options
from penstock.apps.article_search.trouble import EmbedderBusy, EmbedderMisconfigured
from penstock.providers.answer import AnswerTooLarge, Received, read_answer
from penstock.providers.json_client import json_client


class EndpointClient:
    """Follows no redirect: key and trust are for the configured host. Errors never quote what was sent."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(self, body: bytes, *, most_bytes: int, timeout_seconds: float) -> Received:
        host = self._options.host
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._post(body, most_bytes)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise EmbedderBusy(f"{host} cannot be reached ({type(error).__name__}).") from None
        except (TimeoutError, httpx2.TimeoutException):
            raise EmbedderBusy(f"{host} took longer than {timeout_seconds:g} s to answer.") from None
        except AnswerTooLarge:
            raise EmbedderMisconfigured(
                f"The answer of {host} is larger than {most_bytes:,} bytes, which is more than vectors of"
                f" {self._options.dimensions} numbers can need. Check url, model and dimensions of embedder"
                f" {self._options.name!r}."
            ) from None
        except httpx2.HTTPError as error:
            raise EmbedderBusy(f"The connection to {host} broke ({type(error).__name__}).") from None
        except (httpx2.InvalidURL, UnicodeError):
            raise EmbedderMisconfigured(
                f"The address of embedder {self._options.name!r} cannot be asked. Check its url."
            ) from None

    async def _post(self, body: bytes, most_bytes: int) -> Received:
        async with self._opened().stream("POST", f"{self._options.url}/embeddings", content=body) as answer:
            return await read_answer(answer, most_bytes)

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = json_client(self._options.key, self._options.timeout_seconds)
        return self._client
