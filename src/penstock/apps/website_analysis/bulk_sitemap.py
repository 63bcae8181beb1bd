"""The addresses that a sitemap lists, those of the sitemaps it names included.

Read by looking for its one element that matters. No parser of XML sees the file, so nothing in it can name entities,
files or other addresses.
"""

import asyncio
import re
import zlib

from penstock.apps.website_analysis.fetch.address import parse_site
from penstock.apps.website_analysis.fetch.entities import unescaped
from penstock.apps.website_analysis.fetch.fetched import Fetched
from penstock.apps.website_analysis.fetch.fetcher import Fetcher
from penstock.apps.website_analysis.problem import SiteBusy, SiteProblem

MOST_FILES = 50
_MOST_SECONDS = 60.0
_MOST_BYTES = 50 * 1024 * 1024  # what the protocol of sitemaps allows
# Not image:loc and video:loc, which name no pages.
_PLACE = re.compile(r"<loc\s*>([^<]{0,4000}|\s{0,100}<!\[CDATA\[[^\]]{0,4000}\]\]>\s{0,100})</loc\s*>", re.IGNORECASE)
_INDEX = re.compile(r"<(?:\w+:)?sitemapindex[\s>]", re.IGNORECASE)
_XML = re.compile(r"\s*<")


async def listed(url: str, fetcher: Fetcher, *, most: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Addresses in order, and a little more than ``most`` where there are more; and the files that could not be read.

    Somebody waits for it, so it ends after a minute. Indexes are followed one level down.
    """
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            body = await _body(url, fetcher)
            return await _named_by(body, fetcher, most) if _INDEX.search(body[:10_000]) else (_places(body), [])
    except TimeoutError:
        raise SiteBusy(
            f"{url[:200]} and what it names took longer than {_MOST_SECONDS:g} s. Try a part of it."
        ) from None


async def _named_by(index: str, fetcher: Fetcher, most: int) -> tuple[list[str], list[tuple[str, str]]]:
    """One file of many that is missing does not keep the others away."""
    found: list[str] = []
    refused: list[tuple[str, str]] = []
    for place in _places(index)[:MOST_FILES]:
        try:
            found += _places(await _body(parse_site(place), fetcher))
        except SiteProblem as problem:
            refused.append((place[:200], str(problem)))
        if len(found) > most:
            break
    return found, refused


async def _body(url: str, fetcher: Fetcher) -> str:
    fetched = await fetcher.get(url, kind="sitemap")
    if fetched.status != 200:
        raise SiteProblem(f"{url[:200]} answers {fetched.status}, so there is no sitemap. Check its address.")
    text = _unpacked(fetched).decode("utf-8-sig", errors="replace")
    if not _XML.match(text) and "://" not in text:
        raise SiteProblem(f"{url[:200]} is no sitemap: neither XML nor a list of addresses. Check its address.")
    return text


def _places(body: str) -> list[str]:
    if not _XML.match(body):  # the plain form: one address per line
        return [line.strip() for line in body.splitlines() if line.strip()]
    places = (
        unescaped(place.strip().removeprefix("<![CDATA[").removesuffix("]]>")).strip() for place in _PLACE.findall(body)
    )
    return [place for place in places if place]


def _unpacked(fetched: Fetched) -> bytes:
    """Sitemaps are often files that were packed before, which is no matter of HTTP."""
    if not fetched.body.startswith(b"\x1f\x8b"):
        return fetched.body
    try:
        stream = zlib.decompressobj(wbits=31)
        body = stream.decompress(fetched.body, _MOST_BYTES)
    except zlib.error:
        raise SiteProblem(f"{fetched.url[:200]} is packed, but cannot be unpacked. Check the file.") from None
    if stream.unconsumed_tail:
        raise SiteProblem(f"{fetched.url[:200]} unpacks to more than {_MOST_BYTES:,} bytes. Split the sitemap.")
    return body
