"""Many addresses at once: pasted, from a CSV file, from a sitemap. Each site once, and why a line was left out.

People paste what they have: lists with bullets, mails, half a spreadsheet. What looks like an address is taken, what
was meant as one and is wrong is told with its line, and words around it are no matter.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.apps.website_analysis import bulk_csv, bulk_sitemap
from penstock.apps.website_analysis.fetch.address import parse_site
from penstock.apps.website_analysis.fetch.fetcher import Fetcher
from penstock.apps.website_analysis.problem import SiteProblem
from penstock.errors import UsageError

MOST = 10_000
_MOST_REFUSED = 1000
_MOST_CHARACTERS = 8 * 1024 * 1024
_LONGEST_SHOWN = 200
_WITH_SCHEME = re.compile(r"https?://[^\s<>\"'`\[\]{}|]+", re.IGNORECASE)
# A comma may stand in an address; one before another address, or at the end, is between two of them.
_BETWEEN = re.compile(r"[,;](?=\s|$|https?://|www\.)", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*+•·>]+|\(?\d{1,5}[.)])\s+")
_HOST = re.compile(r"(?:[\w-]+\.)+[^\W\d_][\w-]+(?:[:/?#]\S*)?|(?:\d{1,3}\.){3}\d{1,3}(?:[:/?#]\S*)?")
_EDGES = "()<>[]{}\"'`“”„«»*,;.!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``urls``: canonical, each once, in the order given. ``refused``: what was given, and why it is no site."""

    urls: tuple[str, ...]
    duplicates: int
    refused: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """``line`` from 1, as an editor shows it; None where there are no lines."""

    text: str
    line: int | None


def addresses(text: str) -> Found:
    """Of pasted text: one per line, or several with commas or spaces between them."""
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"The text has {len(text):,} characters; at most {_MOST_CHARACTERS:,} are read. Split it.")
    lines = enumerate(text.removeprefix("\ufeff").splitlines(), start=1)
    return chosen(one for number, line in lines for one in _on_line(number, line))


def of_texts(texts: Sequence[str]) -> Found:
    """Of a list in which every text is meant as one address."""
    if len(texts) == 1:
        return chosen([Candidate(text=texts[0], line=None)])
    return chosen(Candidate(text=text, line=number) for number, text in enumerate(texts, start=1))


def from_csv(data: bytes) -> Found:
    """Of a file; raises ``FileRefused`` where it is none, or none of its columns holds addresses."""
    return chosen(Candidate(text=text, line=line) for line, text in bulk_csv.cells(data, looks_like_address))


async def listed_by(url: str, fetcher: Fetcher) -> Found:
    """Of a sitemap, or of the sitemaps that it names."""
    places, unread = await bulk_sitemap.listed(parse_site(url), fetcher, most=MOST)
    found = chosen(Candidate(text=text, line=None) for text in places)
    return replace(found, refused=(*unread, *found.refused))


def together(parts: Iterable[Found]) -> Found:
    """What several places gave, each site once."""
    given = list(parts)
    listed = [url for part in given for url in part.urls]
    urls = tuple(dict.fromkeys(listed))
    return Found(
        urls=urls[:MOST],
        duplicates=len(listed) - len(urls) + sum(part.duplicates for part in given),
        refused=(*(one for part in given for one in part.refused), *_beyond(len(urls) - MOST)),
    )


def chosen(candidates: Iterable[Candidate]) -> Found:
    """Those that are addresses, at most ``MOST``. Lists of strangers are long: what is told about them is not."""
    urls: dict[str, None] = {}
    refused: list[tuple[str, str]] = []
    duplicates = beyond = unsaid = 0
    for one in candidates:
        try:
            url = parse_site(one.text)
        except SiteProblem as problem:
            if len(refused) < _MOST_REFUSED:
                refused.append((one.text[:_LONGEST_SHOWN], _told(one, str(problem))))
            else:
                unsaid += 1
            continue
        if url in urls:
            duplicates += 1
        elif len(urls) < MOST:
            urls[url] = None
        else:
            beyond += 1
    if unsaid:
        refused.append((f"{unsaid:,} more", "These are no addresses either. Correct those that are listed first."))
    return Found(urls=tuple(urls), duplicates=duplicates, refused=(*refused, *_beyond(beyond)))


def looks_like_address(text: str) -> bool:
    """Whether it was meant as one; ``parse_site`` says whether it is one."""
    trimmed = text.strip().strip(_EDGES)
    return "@" not in trimmed and bool(_WITH_SCHEME.match(trimmed) or _HOST.fullmatch(trimmed))


def _on_line(number: int, line: str) -> list[Candidate]:
    """What a line names. Words beside an address are left out; a line that names none is refused as a whole."""
    words = _BULLET.sub("", line, count=1).strip()
    if not words or words.startswith("#"):
        return []
    split = _BETWEEN.sub(" ", words)
    found = [url.rstrip(",;.!)*") for url in _WITH_SCHEME.findall(split)]
    if not found:
        parts = re.split(r"[\s,;|]+", words)
        found = [part.strip(_EDGES) for part in parts if looks_like_address(part)]
    return [Candidate(text=text, line=number) for text in found or [words]]


def _beyond(count: int) -> list[tuple[str, str]]:
    why = f"At most {MOST:,} sites are taken at once. Add the rest as another analysis."
    return [(f"{count:,} more", why)] if count > 0 else []


def _told(candidate: Candidate, problem: str) -> str:
    return problem if candidate.line is None else f"Line {candidate.line:,}: {problem}"
