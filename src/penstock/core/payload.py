"""JSON in and out of the tables, with the values PostgreSQL cannot keep refused by name."""

import dataclasses
import math
import re
from typing import Any

import orjson

from penstock.errors import NotStorable, PayloadTooLarge

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


_SAME = object()


def encode(value: Any, *, what: str, limit_bytes: int, made_of: Any = _SAME) -> str:
    """Encode for a jsonb column. NaN and infinity are refused: JSON has no word for them, and writing null
    instead would change somebody's data without telling. ``made_of``: what they are looked for in, if not in it."""
    try:
        data = orjson.dumps(value, default=_plain)
    except (TypeError, orjson.JSONEncodeError, RecursionError) as error:
        # The cause is our own sentence from `_plain`; the encoder's names only the type.
        raise NotStorable(what=what, problem=str(error.__cause__ or error)) from None
    if len(data) > limit_bytes:
        raise PayloadTooLarge(what=what, size_bytes=len(data), limit_bytes=limit_bytes)
    if b"\\u0000" in data and _NUL.search(data):
        raise NotStorable(what=what, problem="it contains a NUL character (\\u0000), which PostgreSQL cannot keep")
    if b"null" in data and (path := _not_finite(value if made_of is _SAME else made_of, "")) is not None:
        raise NotStorable(what=what, problem=f"the number at {path or 'the top'} is NaN or infinite")
    return data.decode()


def decode(text: str | None) -> Any:
    return None if text is None else orjson.loads(text)


def clean_text(text: str, limit: int = 20_000) -> str:
    """Any text made storable: for error messages, where losing a character beats losing the message."""
    if len(text) > limit:
        text = text[: limit // 2] + f"\n… {len(text) - limit:,} characters left out …\n" + text[-limit // 2 :]
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, bytes):
        raise TypeError("bytes are not JSON; decode them, or store them elsewhere and pass a reference")
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


def _not_finite(value: Any, path: str) -> str | None:
    """Where the first number is that JSON cannot express."""
    if isinstance(value, float):
        return None if math.isfinite(value) else path
    if isinstance(value, dict):
        children = ((f"{path}.{key}", child) for key, child in value.items())
    elif hasattr(value, "model_dump"):
        children = ((f"{path}.{name}", child) for name, child in getattr(value, "__dict__", {}).items())
    elif isinstance(value, list | tuple | set | frozenset):
        children = ((f"{path}[{index}]", child) for index, child in enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        children = ((f"{path}.{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value))
    else:
        return None
    for child_path, child in children:
        if (found := _not_finite(child, child_path)) is not None:
            return found
    return None
