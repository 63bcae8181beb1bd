"""What endpoints say when they refuse, without the secrets that some of them repeat. Pure."""

import json
import re
from dataclasses import dataclass
from urllib.parse import quote

import orjson

_LONGEST_MESSAGE = 200
_MASK = "***"
# So many characters of a key in a row say too much of it.
_TELLING = 8
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """``parameter``: the field of the request that they found fault with."""

    code: str | None = None
    message: str = ""
    parameter: str | None = None


def without(text: str, secret: str | None) -> str:
    """Some endpoints repeat the key they were sent, or a good part of it: none of that is kept or shown.

    For texts that are decoded already: inside JSON the same key has many spellings. A text may quote JSON in its turn,
    or an address, so the key is also looked for as those would write it.
    """
    if not secret:
        return text
    text = _ESCAPED.sub(lambda found: _character(found, secret), text)
    for spelt in dict.fromkeys((secret, json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe=""))):
        text = text.replace(spelt, _MASK)
        for start in range(len(spelt) - _TELLING + 1):
            text = text.replace(spelt[start : start + _TELLING], _MASK)
    return text


def refusal_of(body: bytes, secret: str | None) -> Refusal:
    """The error object in its usual form, without ``secret``; empty for anything else."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Refusal()
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, str):
        error = {"message": error}
    if not isinstance(error, dict):
        return Refusal()
    code, given, parameter = error.get("code") or error.get("type"), error.get("message"), error.get("param")
    message = without(given, secret) if isinstance(given, str) else ""
    shown = " ".join("".join(sign if sign.isprintable() else " " for sign in message).split())
    return Refusal(
        code=without(code, secret) if isinstance(code, str) else None,
        message=shown[:_LONGEST_MESSAGE],
        parameter=without(parameter, secret) if isinstance(parameter, str) else None,
    )


def _character(found: re.Match[str], secret: str) -> str:
    """Only those of the secret: what else is escaped stays as it was said."""
    character = chr(int(found.group(1), 16))
    return character if character in secret else found.group()
