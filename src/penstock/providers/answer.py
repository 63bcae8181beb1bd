"""An HTTP answer, read no further than we want to hold."""

from collections.abc import Mapping
from dataclasses import dataclass

import httpx2


class AnswerTooLarge(Exception):
    """Where it happened is known to the caller, who makes a sentence of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """Header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def read_answer(answer: httpx2.Response, most_bytes: int) -> Received:
    """Raises AnswerTooLarge as soon as it is known: the rest is not read."""
    read = bytearray()
    async for piece in answer.aiter_bytes():
        read += piece
        if len(read) > most_bytes:
            raise AnswerTooLarge
    given = {name.lower(): value for name, value in answer.headers.items()}
    return Received(status=answer.status_code, headers=given, body=bytes(read))
