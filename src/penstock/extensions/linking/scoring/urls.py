"""Addresses of the web, without what does not change where they lead."""

import re
from urllib.parse import unquote

from penstock.extensions.linking.scoring.finding import Finding

_URL = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|www\.)", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SAME_SITE = 0.7


def is_url(text: str) -> bool:
    return _URL.match(text.strip()) is not None


def compare(text: str, there: str) -> Finding:
    """Another page of the same site says half of it; another site says little, since addresses move."""
    mine, other = parts(text), parts(there)
    if mine == other:
        return Finding(kind="url", value=1.0, said=f"the same address, {there}")
    if mine[0] == other[0]:
        return Finding(kind="url", value=_SAME_SITE, strength=0.7, said=f"another page of {mine[0]}")
    return Finding(kind="url", value=0.0, strength=0.5, said=f"{mine[0]} here, {other[0]} there")


def parts(text: str) -> tuple[str, str]:
    """Host and path with query, in the form in which they are compared."""
    bare = _SCHEME.sub("", text.strip()).partition("#")[0]
    host, _, path = bare.partition("/")
    host = host.lower().rpartition("@")[2].removesuffix(":80").removesuffix(":443").rstrip(".").removeprefix("www.")
    return host, unquote(path).rstrip("/")
