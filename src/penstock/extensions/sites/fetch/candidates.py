"""Which further pages are worth asking for, best first. Pure: the same links give the same order.

Slow for a site that wants it to be: never run on the loop.
"""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from penstock.extensions.sites.fetch import markup
from penstock.extensions.sites.fetch.address import canonical, joined, same_site
from penstock.extensions.sites.fetch.fetched import Fetched
from penstock.extensions.sites.fetch.robots import Robots

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
    base, found = markup.links(markup.decoded(start.body))
    relative_to = (joined(start.final_url, base) if base else None) or start.final_url
    candidates = []
    for link in found:
        url = joined(relative_to, link.href)
        if url is not None and same_site(url, start.final_url):
            candidates.append(LinkCandidate(url=canonical(url), text=link.text))
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
