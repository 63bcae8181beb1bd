"""Addresses in a sitemap: XML, an index of sitemaps, plain text, packed or not.

No XML parser: files of strangers may hold entities that grow without end, and all we want stands between two tags.
"""

import re
from dataclasses import dataclass

from penstock.extensions.sites.fetch.markup import unescaped
from penstock.extensions.sites.fetch.unpacking import GZIP_MAGIC, gunzipped

_LARGEST_BYTES = 10 * 1024 * 1024
_LOCATION = re.compile(r"<(?:\w{1,20}:)?loc>\s*([^<>\s]{1,2000})\s*</", re.IGNORECASE)
_MOST = 5000
# Searched piece by piece: one search of ten megabytes would keep every other thread of the process waiting.
_WINDOW, _OVERLAP = 256 * 1024, 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitemap:
    """``pages`` and ``sitemaps`` in the order of the file; one of them is empty."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()


def understood(body: bytes) -> Sitemap:
    """Nothing for what is no sitemap; never raises."""
    if body.startswith(GZIP_MAGIC):
        body = gunzipped(body, _LARGEST_BYTES) or b""
    text = body[:_LARGEST_BYTES].decode("utf-8-sig", errors="replace")
    if "<" not in text[:1000]:
        lines = [line.strip() for line in text.splitlines()[:_MOST]]
        return Sitemap(pages=tuple(line for line in lines if line.startswith(("http://", "https://"))))
    plain = text.replace("<![CDATA[", "").replace("]]>", "")
    found = _located(plain)
    if "<sitemapindex" in plain[:5000].lower():
        return Sitemap(sitemaps=tuple(found))
    return Sitemap(pages=tuple(found))


def _located(text: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(text) and len(found) < _MOST:
        end = at + _WINDOW
        for location in _LOCATION.finditer(text, at, end):
            found.append(unescaped(location[1]))
            at = location.end()
        at = max(at, end - _OVERLAP)
    return found[:_MOST]
