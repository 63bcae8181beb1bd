"""Many addresses at once: pasted, from a CSV file, from a sitemap. Each site once, and why a line was left out.

People paste what they have: lists with bullets, mails, half a spreadsheet. What looks like an address is taken, what
was meant as one and is wrong is told with its line, and words around it are no matter.
"""

import csv
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.console.files.csv_rows import MOST_COLUMNS
from penstock.console.files.csv_shape import sample, shape_of
from penstock.console.files.encoding import encoding_of
from penstock.console.files.refused import FileRefused
from penstock.errors import UsageError
from penstock.extensions.sites.fetch.address import parse_site
from penstock.extensions.sites.fetch.fetched import Fetched, Fetcher, SiteProblem
from penstock.extensions.sites.fetch.links import unescaped

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
_MOST_CSV_BYTES = 32 * 1024 * 1024
_LONGEST_CELL = 64 * 1024
# What people call the column; of several the one that comes first here.
_HEADINGS = ("url", "website", "domain", "homepage", "site", "web", "webseite", "sitio web", "site web", "link")
_EXPECTED = "Give a text or CSV file in UTF-8: one address per line, or a column called `url`."
_MOST_SITEMAPS = 50
_MOST_SITEMAP_BYTES = 50 * 1024 * 1024  # what the protocol of sitemaps allows
# Not image:loc and video:loc, which name no pages.
_PLACE = re.compile(r"<loc\s*>([^<]{0,4000}|\s{0,100}<!\[CDATA\[[^\]]{0,4000}\]\]>\s{0,100})</loc\s*>", re.IGNORECASE)
_INDEX = re.compile(r"<(?:\w+:)?sitemapindex[\s>]", re.IGNORECASE)
_XML = re.compile(r"\s*<")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSites:
    """``urls``: canonical, each once, in the order given. ``refused``: what was given, and why it is no site."""

    urls: tuple[str, ...]
    duplicates: int
    refused: tuple[tuple[str, str], ...]


def addresses(text: str) -> ParsedSites:
    """Of pasted text: one per line, or several with commas or spaces between them."""
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"The text has {len(text):,} characters; at most {_MOST_CHARACTERS:,} are read. Split it.")
    lines = enumerate(text.removeprefix("\ufeff").splitlines(), start=1)
    return _chosen((text, number) for number, line in lines for text in _on_line(line))


def of_texts(texts: Sequence[str]) -> ParsedSites:
    """Of a list in which every text is meant as one address."""
    return _chosen((text, number if len(texts) > 1 else None) for number, text in enumerate(texts, start=1))


def from_csv(data: bytes) -> ParsedSites:
    """Of a file; raises ``FileRefused`` where it is none, or none of its columns holds addresses."""
    return _chosen(_cells(data))


async def listed_by(url: str, fetcher: Fetcher) -> ParsedSites:
    """Of a sitemap, or of the sitemaps that it names, one level down.

    Read by looking for the one element that matters. No parser of XML sees the file, so nothing in it can name
    entities, files or other addresses.
    """
    body = await _body(parse_site(url), fetcher)
    places, unread = await _named_by(body, fetcher) if _INDEX.search(body[:10_000]) else (_places(body), [])
    found = _chosen((text, None) for text in places)
    return replace(found, refused=(*unread, *found.refused))


def together(parts: Iterable[ParsedSites]) -> ParsedSites:
    """What several places gave, each site once."""
    given = list(parts)
    listed = [url for part in given for url in part.urls]
    urls = tuple(dict.fromkeys(listed))
    return ParsedSites(
        urls=urls[:MOST],
        duplicates=len(listed) - len(urls) + sum(part.duplicates for part in given),
        refused=(*(one for part in given for one in part.refused), *_beyond(len(urls) - MOST)),
    )


def _chosen(candidates: Iterable[tuple[str, int | None]]) -> ParsedSites:
    """Those that are addresses, at most ``MOST``. Lists of strangers are long: what is told about them is not. Each
    comes with its line, from 1, as an editor shows it; None where there are no lines."""
    urls: dict[str, None] = {}
    refused: list[tuple[str, str]] = []
    duplicates = beyond = unsaid = 0
    for text, line in candidates:
        try:
            url = parse_site(text)
        except SiteProblem as problem:
            if len(refused) < _MOST_REFUSED:
                where = "" if line is None else f"Line {line:,}: "
                refused.append((text[:_LONGEST_SHOWN], f"{where}{problem}"))
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
    return ParsedSites(urls=tuple(urls), duplicates=duplicates, refused=(*refused, *_beyond(beyond)))


def _looks_like_address(text: str) -> bool:
    """Whether it was meant as one; ``parse_site`` says whether it is one."""
    trimmed = text.strip().strip(_EDGES)
    return "@" not in trimmed and bool(_WITH_SCHEME.match(trimmed) or _HOST.fullmatch(trimmed))


def _on_line(line: str) -> list[str]:
    """What a line names. Words beside an address are left out; a line that names none is refused as a whole."""
    words = _BULLET.sub("", line, count=1).strip()
    if not words or words.startswith("#"):
        return []
    split = _BETWEEN.sub(" ", words)
    found = [url.rstrip(",;.!)*") for url in _WITH_SCHEME.findall(split)]
    if not found:
        parts = re.split(r"[\s,;|]+", words)
        found = [part.strip(_EDGES) for part in parts if _looks_like_address(part)]
    return found or [words]


def _beyond(count: int) -> list[tuple[str, str]]:
    why = f"At most {MOST:,} sites are taken at once. Add the rest as another analysis."
    return [(f"{count:,} more", why)] if count > 0 else []


def _cells(data: bytes) -> Iterator[tuple[str, int]]:
    """(text, line) of every cell that is not empty: of the column that is called so, else of the first that holds
    addresses."""
    text = _csv_text(data)
    shape = shape_of(text, encoding="utf-8", whole=True, delimiter=None, header=False, most_columns=MOST_COLUMNS)
    first = sample(text, shape.delimiter, shape.quote, whole=True)
    column, with_heading = _column(first)
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=shape.delimiter, quotechar=shape.quote)
    begins, rows = 1, 0
    try:
        for row in reader:
            line, begins = begins, reader.line_num + 1
            rows += bool(row)
            if row and not (rows == 1 and with_heading) and column < len(row) and row[column].strip():
                yield row[column].strip(), line
    except csv.Error as error:
        raise FileRefused(f"line {begins:,} is no CSV ({error}).", "Export the file again.") from None


def _csv_text(data: bytes) -> str:
    if len(data) > _MOST_CSV_BYTES:
        raise FileRefused(f"the file has {len(data):,} bytes; at most {_MOST_CSV_BYTES:,} are read.", "Split it.")
    if not data.strip():
        raise FileRefused("the file is empty.", _EXPECTED)
    try:
        encoding = encoding_of(data)
    except FileRefused as error:
        # Whoever gives a list of addresses has no way to name an encoding.
        raise FileRefused(error.problem, _EXPECTED) from None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FileRefused(f"byte {error.start:,} of the file is not {encoding}.", "Save it as UTF-8.") from None
    if "\0" in text:
        raise FileRefused("the file holds NUL characters, so it is not a CSV.", _EXPECTED)
    if not text.strip("\ufeff \t\r\n"):
        raise FileRefused("the file is empty.", _EXPECTED)
    return text


def _column(rows: Sequence[Sequence[str]]) -> tuple[int, bool]:
    """Which column, and whether its first row is a heading."""
    headings = [cell.strip().casefold() for cell in rows[0]]
    for heading in _HEADINGS:
        if heading in headings:
            return headings.index(heading), True
    width = max(len(row) for row in rows)
    for column in range(width):
        held = [row[column] for row in rows if column < len(row) and row[column].strip()]
        if sum(map(_looks_like_address, held)) * 2 > len(held[1:]) and any(map(_looks_like_address, held)):
            return column, not (column < len(rows[0]) and _looks_like_address(rows[0][column]))
    raise FileRefused(
        "no column of the file holds addresses of websites.", "Call the column with the addresses `url` in its heading."
    )


async def _named_by(index: str, fetcher: Fetcher) -> tuple[list[str], list[tuple[str, str]]]:
    """One file of many that is missing does not keep the others away."""
    found: list[str] = []
    refused: list[tuple[str, str]] = []
    for place in _places(index)[:_MOST_SITEMAPS]:
        try:
            found += _places(await _body(parse_site(place), fetcher))
        except SiteProblem as problem:
            refused.append((place[:200], str(problem)))
        if len(found) > MOST:
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
        body = stream.decompress(fetched.body, _MOST_SITEMAP_BYTES)
    except zlib.error:
        raise SiteProblem(f"{fetched.url[:200]} is packed, but cannot be unpacked. Check the file.") from None
    if stream.unconsumed_tail:
        raise SiteProblem(f"{fetched.url[:200]} unpacks to more than {_MOST_SITEMAP_BYTES:,} bytes. Split the sitemap.")
    return body
