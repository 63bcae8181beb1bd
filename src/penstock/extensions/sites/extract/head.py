"""What a page says about itself: title, description, address of its own, Open Graph; and JSON-LD in all the shapes that
people put on pages: objects, lists, graphs, lists in lists, and nearly JSON.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.extensions.sites.extract.element import Element, squeezed
from penstock.extensions.sites.fetch.address import joined, same_site

Item = dict[str, Any]

MOST_ITEMS = 40
_MOST_BYTES = 500_000
_MOST_TEXT = 2000
_MOST_MEMBERS = 60
_DEEPEST = 8
_AROUND = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|//\s*\]\]>|\]\]>)\s*;?\s*$")
_COMMENT = re.compile(r"^\s*//[^\n]*$", re.MULTILINE)
_COMMA_TOO_MANY = re.compile(r",(\s{0,200}[}\]])")
_COMMA_TOO_FEW = re.compile(r'"([ \t\r\n]{1,200})"')
_TYPE = re.compile(r'"@type"\s{0,9}:\s{0,9}"([A-Za-z]{2,60})"')
_PLAIN = re.compile(r'"(name|telephone|email|description)"\s{0,9}:\s{0,9}"([^"\\\n]{1,300})"')
_MOST_TITLE = 300
_MOST_DESCRIPTION = 1000
_MOST_OPEN_GRAPH = 40
_MOST_LINKS = 300
_MOST_ANCHORS = 3000


def items(page: Element) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The objects with a type, outermost and those of graphs; and a sentence per script that is no JSON."""
    found: list[Item] = []
    notes: list[str] = []
    for script in page.find("script"):
        if "ld+json" not in script.attributes.get("type", "").lower() or len(found) >= MOST_ITEMS:
            continue
        text = "".join(child for child in script.children if isinstance(child, str))
        if not text.strip():
            continue
        data, note = _loaded(text)
        if note:
            notes.append(note)
        found.extend(_flat(data, 0))
    return tuple(_bounded(one, 0) for one in found[:MOST_ITEMS]), tuple(notes[:5])


def types(item: Item) -> tuple[str, ...]:
    """Without the address of the vocabulary."""
    given = item.get("@type")
    several = given if isinstance(given, list) else [given]
    return tuple(re.split(r"[/#:]", one)[-1] for one in several if isinstance(one, str))


def nested(item: Any, depth: int = 0) -> Iterator[Item]:
    """It and every object inside it; of several, theirs."""
    if depth > _DEEPEST:
        return
    if isinstance(item, dict):
        yield item
        for value in item.values():
            yield from nested(value, depth + 1)
    elif isinstance(item, list | tuple):
        for value in item:
            yield from nested(value, depth + 1)


def words(value: Any) -> str:
    """A text, however it is wrapped: a string, the first of several, or an object with a name."""
    for _ in range(4):
        if isinstance(value, list | tuple):
            value = value[0] if value else None
        elif isinstance(value, dict):
            value = value.get("name", value.get("@value"))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return squeezed(str(value), 300)


def _loaded(text: str) -> tuple[Any, str | None]:
    if len(text) > _MOST_BYTES:
        return None, f"A JSON-LD script of {len(text):,} characters was left out."
    text = _AROUND.sub("", text)
    for candidate in (text, _mended(text)):
        try:
            return json.loads(candidate, strict=False), None
        except (ValueError, RecursionError):
            continue
    return _salvaged(text), "A JSON-LD script is no valid JSON; only its plain values were read."


def _mended(text: str) -> str:
    """The usual slips: comments, a comma too many, one too few."""
    text = _COMMENT.sub("", text)
    return _COMMA_TOO_FEW.sub('",\\1"', _COMMA_TOO_MANY.sub(r"\1", text))


def _salvaged(text: str) -> Item | None:
    kind = _TYPE.search(text)
    if kind is None:
        return None
    values: Item = {"@type": kind[1]}
    for found in _PLAIN.finditer(text):
        values.setdefault(found[1], found[2])
    return values


def _flat(data: Any, depth: int) -> Iterator[Item]:
    if depth > _DEEPEST:
        return
    if isinstance(data, list):
        for one in data[:_MOST_MEMBERS]:
            yield from _flat(one, depth + 1)
    elif isinstance(data, dict):
        if "@graph" in data:
            yield from _flat(data["@graph"], depth + 1)
        if data.get("@type"):
            yield data


def _bounded(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        members = list(value.items())[:_MOST_MEMBERS] if depth < _DEEPEST else []
        return {squeezed(str(key), 100): _bounded(one, depth + 1) for key, one in members if key != "@graph"}
    if isinstance(value, list):
        return [_bounded(one, depth + 1) for one in value[:_MOST_MEMBERS]] if depth < _DEEPEST else []
    if isinstance(value, str):
        return squeezed(value, _MOST_TEXT)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None  # JSON has no such numbers, and no database keeps them
    return value if value is None or isinstance(value, bool | float) or abs(value) < 2**53 else str(value)[:40]


def metas(page: Element) -> dict[str, str]:
    """By name, property or itemprop in lower case; the first that says something counts."""
    found: dict[str, str] = {}
    for meta in page.find("meta"):
        name = (meta.attributes.get("property") or meta.attributes.get("name") or "").strip().lower()
        value = squeezed(meta.attributes.get("content"), _MOST_DESCRIPTION)
        if name and value and name not in found and len(found) < 200:
            found[name[:100]] = value
    return found


def title(page: Element, meta: dict[str, str]) -> str | None:
    """The title; where it is empty, what it would have been for other programs, then the first heading."""
    given = next((squeezed(one.text(), _MOST_TITLE) for one in page.find("title")), "")
    named = given or meta.get("og:title") or meta.get("twitter:title")
    if not named:
        headings = (squeezed(one.text(), _MOST_TITLE) for level in ("h1", "h2") for one in page.find(level))
        named = next((text for text in headings if text), "")
    return squeezed(named, _MOST_TITLE) or None


def description(meta: dict[str, str], items: tuple[Item, ...]) -> str | None:
    for name in ("description", "og:description", "twitter:description", "dc.description", "dcterms.description"):
        if meta.get(name):
            return meta[name]
    found = (squeezed(words(item.get("description")), _MOST_DESCRIPTION) for item in items)
    return next((text for text in found if text), None)


def base_of(page: Element, url: str) -> str:
    href = next((one.attributes["href"] for one in page.find("base") if one.attributes.get("href")), None)
    return (joined(url, href) if href else None) or url


def canonical(page: Element, meta: dict[str, str], url: str) -> tuple[str | None, str | None]:
    """(address, note). Addresses of other sites are not believed: a forgotten test server, or a copied template."""
    base = base_of(page, url)
    for link in page.find("link"):
        if "canonical" not in link.attributes.get("rel", "").lower().split():
            continue
        href = link.attributes.get("href", "").strip()
        if href:
            return _believed(joined(base, href), href, url)
    said = meta.get("og:url", "")
    if said.lower().startswith(("http://", "https://")):
        return _believed(joined(base, said), said, url)
    return None, None


def open_graph(meta: dict[str, str]) -> dict[str, str]:
    found = {name: value for name, value in meta.items() if name.startswith(("og:", "article:", "product:"))}
    return dict(sorted(found.items())[:_MOST_OPEN_GRAPH])


def links(page: Element, url: str) -> tuple[str, ...]:
    """Where it leads, in order, each once."""
    base = base_of(page, url)
    found: dict[str, None] = {}
    for anchor in islice(page.find("a"), _MOST_ANCHORS):
        href = anchor.attributes.get("href", "").strip()
        if not href or href.startswith(("#", "javascript:", "mailto:", "tel:", "data:")) or len(href) > 2000:
            continue
        if address := joined(base, href):
            found[address] = None
        if len(found) == _MOST_LINKS:
            break
    return tuple(found)


def _believed(address: str | None, said: str, url: str) -> tuple[str | None, str | None]:
    if address is not None and same_site(address, url):
        return address, None
    return None, f"The page calls {said[:200]!r} its canonical address, which is no address of this site."
