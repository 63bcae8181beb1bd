"""Which further pages of a site are worth asking for: found in links and sitemaps, best first. Pure: the same links
give the same order.

Plain scanning in linear time, since it happens in the process that runs everything else; the real parser works in a
child of its own. Ordering is slow for a site that wants it to be: never run on the loop. Sitemaps are read without an
XML parser: files of strangers may hold entities that grow without end, and all we want stands between two tags.
"""

import html
import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from penstock.extensions.sites.fetch.address import canonical, joined, same_site
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.fetch.request import GZIP_MAGIC, gunzipped
from penstock.extensions.sites.fetch.robots import Robots

# Python refuses to read numbers of thousands of digits. No character has a number this long.
_ENDLESS = re.compile(r"&#[0-9]{20,};?")
_LARGEST_SCAN = 2 * 1024 * 1024
# No "<" inside: a page of nothing but "<a <a <a" is passed once, not once per "<a".
_ANCHOR = re.compile(r"<a\s([^<>]*)>([^<]{0,200})", re.IGNORECASE)
_BASE = re.compile(r"<base\s([^<>]*)>", re.IGNORECASE)
_HREF = re.compile(r"""(?:^|\s)href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_UNSEEN = ("script", "style", "noscript", "template", "title")
_MOST_LINKS = 2000
# Best first, in the languages that are met most. A word is a part of the path, or of what the link says.
_USEFUL = (
    "about about-us company who-we-are our-story team ueber-uns über-uns unternehmen wir a-propos apropos"
    " qui-sommes-nous entreprise nosotros quienes-somos sobre sobre-nosotros empresa chi-siamo azienda over-ons o-nas"
    " om-oss om",
    "services service solutions what-we-do leistungen dienstleistungen loesungen lösungen angebot angebote prestations"
    " servicios soluciones servizi soluzioni diensten serviços servicos uslugi tjenester tjanster",
    "products product shop store menu catalog catalogue range produkte produkt sortiment speisekarte produits produit"
    " carte productos producto tienda carta prodotti negozio producten produtos",
    "pricing prices price plans rates fees preise preisliste tarife tarifs prix precios tarifas prezzi tarieven preços",
    "contact contact-us contacts locations location find-us visit kontakt anfahrt standorte impressum nous-contacter"
    " contacto contatti contatto contato kontakty",
    "faq faqs help questions how-it-works references referenzen customers clients case-studies portfolio projects",
)
_RANKS = {word: rank for rank, words in enumerate(_USEFUL) for word in words.split()}
_USELESS = len(_USEFUL)
_NEVER = re.compile(
    r"(log-?(in|out|off)|sign-?(in|out|up|off)|register|cart|basket|checkout|wishlist|my-?account|account|password"
    r"|warenkorb|kasse|anmelden|abmelden|panier|carrito|carrello|winkelwagen|wp-admin|wp-login(\.php)?|wp-json|xmlrpc\.php"
    r"|feed|rss|atom|cdn-cgi|search|suche|recherche|buscar|print|unsubscribe|delete|remove|admin|cgi-bin|calendar)\Z"
)
_HTML_ENDINGS = frozenset({"html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "jspx", "cfm", "do"})
_ENDING = re.compile(r"\.([a-z0-9]{1,6})\Z")
# The only parameters that name a page, rather than a way of showing one.
_NAMING = frozenset({"id", "page_id", "p", "pid", "cat", "content", "view", "site", "seite", "lang"})
_DEEPEST, _LONGEST = 6, 300
_WORD_BREAK = re.compile(r"[\s/_.,:;!?&|>»→-]+")
_LARGEST_BYTES = 10 * 1024 * 1024
_LOCATION = re.compile(r"<(?:\w{1,20}:)?loc>\s*([^<>\s]{1,2000})\s*</", re.IGNORECASE)
_MOST = 5000
# Searched piece by piece: one search of ten megabytes would keep every other thread of the process waiting.
_WINDOW, _OVERLAP = 256 * 1024, 4096


def unescaped(text: str) -> str:
    """Never raises; a number that no character has becomes the sign for a broken character."""
    return html.unescape(_ENDLESS.sub("\ufffd", text))


def decoded(body: bytes) -> str:
    """Good enough for links and for counting letters."""
    start = body[:_LARGEST_SCAN]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return start.decode("utf-16", errors="replace")
    return start.decode("utf-8", errors="ignore") if _recognised(body) else start.decode("latin-1")


def _recognised(body: bytes) -> bool:
    """A character that was cut at the end is no reason to read the page in another way."""
    try:
        body[:_LARGEST_SCAN].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= min(len(body), _LARGEST_SCAN) - 4
    return True


def links(text: str) -> tuple[str | None, list[tuple[str, str]]]:
    """What the page says its links are relative to, and the links in their order: as they stand there, and what people
    see of them."""
    shown = _shown(text, ("script", "style", "template"))
    base = _BASE.search(shown)
    found: list[tuple[str, str]] = []
    for anchor in _ANCHOR.finditer(shown):
        href = _href(anchor[1])
        if href:
            found.append((href, " ".join(unescaped(anchor[2]).split())))
        if len(found) == _MOST_LINKS:
            break
    return (_href(base[1]) if base else None), found


def letters(body: bytes) -> int:
    """How many letters people see, about. In a charset that was not recognised, every byte of one counts."""
    seen = unescaped(_TAG.sub(" ", _shown(decoded(body), _UNSEEN)))
    foreign = 0 if _recognised(body) else sum("\x80" <= one <= "\xff" and not one.isalpha() for one in seen)
    return sum(map(str.isalpha, seen)) + foreign


def has_scripts(text: str) -> bool:
    return "<script" in text.lower()


def _href(attributes: str) -> str | None:
    found = _HREF.search(attributes)
    return None if found is None else unescaped(found[1] or found[2] or found[3] or "").strip() or None


def _shown(text: str, unseen: Iterable[str]) -> str:
    """Without comments and these elements."""
    shown = _without(text, text, "<!--", "-->")
    for name in unseen:
        folded = shown.lower() if len(shown.lower()) == len(shown) else shown
        shown = _without(shown, folded, f"<{name}", f"</{name}")
    return shown


def _without(text: str, folded: str, opening: str, closing: str) -> str:
    """One pass; what is never closed reaches to the end."""
    kept, at = [], 0
    while (begin := folded.find(opening, at)) != -1:
        kept.append(text[at:begin])
        end = folded.find(closing, begin)
        if end == -1:
            return "".join(kept)
        at = end + len(closing)
    kept.append(text[at:])
    return "".join(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCandidate:
    """``text``: what the link to it says; empty for a sitemap's."""

    url: str
    text: str = ""


def ordered(candidates: Iterable[LinkCandidate]) -> list[str]:
    """Useful first, then the shallow, then as they came; none twice."""
    best: dict[str, tuple[int, int, int, int]] = {}
    for number, candidate in enumerate(candidates):
        if is_page(candidate.url):
            parts = urlsplit(candidate.url)
            depth = len([step for step in parts.path.split("/") if step])
            key = (_rank(parts.path, candidate.text), bool(parts.query) + 0, depth, number)
            best[candidate.url] = min(key, best.get(candidate.url, key))
    return sorted(best, key=lambda url: best[url])


def is_page(url: str) -> bool:
    """Not a file, not a door, not a maze."""
    parts = urlsplit(url)
    steps = [unquote(step).lower() for step in parts.path.split("/") if step]
    if len(url) > _LONGEST or len(steps) > _DEEPEST or any(steps.count(step) > 2 for step in steps):
        return False
    if any(_NEVER.match(step) for step in steps):
        return False
    ending = _ENDING.search(steps[-1]) if steps else None
    if ending is not None and ending[1] not in _HTML_ENDINGS:
        return False
    names = [one.split("=")[0].lower() for one in parts.query.split("&") if one]
    return len(names) <= 1 and all(name in _NAMING for name in names)


def _rank(path: str, text: str) -> int:
    steps = [unquote(step).lower() for step in path.split("/") if step]
    words: list[str] = []
    for step in steps:
        stem = step.rpartition(".")[0] or step if _ENDING.search(step) else step
        words += [stem, *_WORD_BREAK.split(stem)]
    said = _WORD_BREAK.split(text.lower())
    if len(said) <= 4:  # a sentence that holds the word "service" is no link to the services
        words += said
    return min((_RANKS[word] for word in words if word in _RANKS), default=_USELESS)


def linked(start: Fetched) -> list[LinkCandidate]:
    base, found = links(decoded(start.body))
    relative_to = (joined(start.final_url, base) if base else None) or start.final_url
    candidates = []
    for href, text in found:
        url = joined(relative_to, href)
        if url is not None and same_site(url, start.final_url):
            candidates.append(LinkCandidate(url=canonical(url), text=text))
    return candidates


def own(places: Iterable[str], start: Fetched) -> list[str]:
    """Those that are addresses of this site, made absolute."""
    absolute = (joined(start.final_url, place) for place in places)
    return [url for url in absolute if url is not None and same_site(url, start.final_url)]


def chosen(candidates: Iterable[LinkCandidate], robots: Robots, *, without: Set[str], most: int) -> list[str]:
    """The best ``most`` of them that robots.txt allows. Ranked first: asking robots.txt is what costs."""
    wanted: list[str] = []
    asked = 0
    for url in ordered(candidates):
        if url in without:
            continue
        if len(wanted) == most or asked == robots.most_asked:
            break
        asked += 1
        if robots.allows(url):
            wanted.append(url)
    return wanted


def listed(body: bytes) -> tuple[list[str], list[str]]:
    """The pages and the sitemaps that a sitemap names, in its order; one of them is empty. Nothing for what is no
    sitemap; never raises."""
    if body.startswith(GZIP_MAGIC):
        body = gunzipped(body, _LARGEST_BYTES) or b""
    text = body[:_LARGEST_BYTES].decode("utf-8-sig", errors="replace")
    if "<" not in text[:1000]:
        lines = [line.strip() for line in text.splitlines()[:_MOST]]
        return [line for line in lines if line.startswith(("http://", "https://"))], []
    plain = text.replace("<![CDATA[", "").replace("]]>", "")
    found = _located(plain)
    return ([], found) if "<sitemapindex" in plain[:5000].lower() else (found, [])


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
