"""From the JSON of an endpoint to an answer, or to a reason why it is none. Pure."""

from dataclasses import dataclass
from typing import Any

import orjson

LONGEST_TEXT = 20_000
_LONGEST_MESSAGE = 200
_MOST_TOKENS = 100_000_000
_FILTERED = "content_filter"


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
    tokens_in, tokens_out = _usage(data.get("usage"))
    return ModelReply(
        text=text,
        problem=problem,
        cut=first.get("finish_reason") == "length",
        tokens_in=tokens_in,
        tokens_out=tokens_out,
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


def _usage(usage: object) -> tuple[int | None, int | None]:
    given = usage if isinstance(usage, dict) else {}
    return _count(given.get("prompt_tokens")), _count(given.get("completion_tokens"))


def _count(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if isinstance(value, int) and whole and 0 <= value <= _MOST_TOKENS else None
