"""Answers of sources without what PostgreSQL cannot keep, in texts, ids and names of fields alike. Pure."""

import re
from typing import Any

import orjson

# Pairs of backslashes and pairs of surrogates stand first, so that no half of one is taken for something else.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def storable_json(body: bytes) -> Any:
    """NUL characters and halves of characters are left out; what is no JSON raises ``orjson.JSONDecodeError``."""
    if b"\\u0000" in body or b"\\ud" in body or b"\\uD" in body:
        body = _ESCAPES.sub(lambda found: b"" if found.group(1) else found.group(0), body)
    return orjson.loads(body)
