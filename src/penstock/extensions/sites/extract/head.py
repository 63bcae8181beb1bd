"""What a page says about itself: title, description, address of its own, Open Graph."""

from itertools import islice
from urllib.parse import urljoin, urlsplit

from penstock.extensions.sites.extract.element import Element
from penstock.extensions.sites.extract.json_ld import Item, words
from penstock.extensions.sites.extract.wording import squeezed
from penstock.extensions.sites.fetch.address import joined, same_site

_MOST_TITLE = 300
_MOST_DESCRIPTION = 1000
_MOST_OPEN_GRAPH = 40
_MOST_LINKS = 300
_MOST_ANCHORS = 3000


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
        if _is_web(base, href) and (address := joined(base, href)):
            found[address] = None
        if len(found) == _MOST_LINKS:
            break
    return tuple(found)


def _believed(address: str | None, said: str, url: str) -> tuple[str | None, str | None]:
    if address is not None and same_site(address, url):
        return address, None
    return None, f"The page calls {said[:200]!r} its canonical address, which is no address of this site."


def _is_web(base: str, href: str) -> bool:
    try:
        return urlsplit(urljoin(base, href)).scheme in ("http", "https")
    except ValueError:
        return False
