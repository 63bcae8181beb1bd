"""What the business is called. Several places of a page say it; the one that means it most is believed first."""

import re
from collections import defaultdict
from collections.abc import Sequence
from urllib.parse import urlsplit

from penstock.extensions.sites.extract.element import Element, folded, squeezed
from penstock.extensions.sites.extract.head import Item, nested, types, words

_MOST_NAME = 120
# What is on offer or told, never who offers it.
_NOT_A_BUSINESS = frozenset({
    "WebPage", "WebSite", "Product", "Offer", "Service", "Article", "NewsArticle", "BlogPosting", "Recipe", "Event",
    "Person", "BreadcrumbList", "ListItem", "FAQPage", "Question", "Answer", "ImageObject", "SearchAction", "Review",
    "Rating", "AggregateRating", "PostalAddress", "Brand", "Place", "Menu", "MenuItem", "MenuSection", "OfferCatalog",
    "ItemList", "VideoObject", "SoftwareApplication", "CollectionPage", "AboutPage", "ContactPage", "HowTo", "Book",
    "Movie", "Course", "JobPosting", "SiteNavigationElement", "WPHeader", "WPFooter", "Country", "City",
    "AdministrativeArea",
})  # fmt: skip
_ORGANISER = ("publisher", "organizer", "provider", "seller", "author")
_SEPARATORS = re.compile(r"\s+[|·•–—»«:\-]\s+|[|｜]|\s*-\s*(?=[\u3040-\u9fff])|(?<=[\u3040-\u9fff])\s*-\s*|\s+-\s+")
_RIGHTS = re.compile(
    r"(?:©|\(c\)|copyright|版权所有)\s*(?:copyright\s*)?(?:\d{4}\s*(?:[-–]\s*\d{4})?)?[\s,]*"
    r"([^\W\d_][^|·•©<>\n.,]{1,60})",
    re.IGNORECASE,
)
_LEGAL_FORM = re.compile(r"\s+(?:GmbH(?: & Co\.? KG)?|Inc|Ltd|LLC|AG|UG|KG|Ltda|S\.?L|SARL|B\.?V|Handels GmbH|All)\b.*")
_PLACE_AFTER = re.compile(r"\s+(?:in|aus|à|en|em|a)\s+[A-ZÀ-Ý].*|,\s.*")
_BANNER = re.compile(r"banner|title|kopf|header")
_NO_NAMES = frozenset(
    ["home", "homepage", "start", "startseite", "accueil", "inicio", "início", "главная", "welcome", "logo", "menu"]
)


def candidates(
    page: Element, meta: dict[str, str], items: Sequence[Item], title: str | None
) -> list[tuple[str, float]]:
    """(name, how much it counts), of one page."""
    found: list[tuple[str, float]] = [*_said(items)]
    for name in ("og:site_name", "application-name", "apple-mobile-web-app-title"):
        if meta.get(name):
            found.append((meta[name], 5.0 if name == "og:site_name" else 3.0))
    found += [(text, 3.0) for text in _logos(page)]
    found += [(text, 2.5) for text in _rights(page)]
    found += _title_parts(title)
    kept = [(squeezed(text, _MOST_NAME), weight) for text, weight in found]
    return [(text, weight) for text, weight in kept if _is_name(text)][:40]


def name_of(found: Sequence[tuple[str, float]], url: str) -> str | None:
    """Names that read the same count together; one that the host spells counts double."""
    host = _host(url)
    weights: defaultdict[str, float] = defaultdict(float)
    spelled: dict[str, str] = {}
    for text, weight in found:
        key = folded(text)
        spelled.setdefault(key, text)
        weights[key] += weight
    for key in list(weights):
        for other, weight in list(weights.items()):
            if key != other and key in other and len(key) > 3:
                weights[key] += min(weight, 1.0)
        if _spelled_by(host, key):
            weights[key] *= 1.5
    if not weights:
        return None
    best = max(weights, key=lambda key: (weights[key], -len(key), key))
    return spelled[best]


def is_surely(name: str | None, url: str) -> bool:
    """Whether a name can be nothing else. One word may be a subject that was taken for a name, unless the host is
    called so too."""
    key = folded(name or "")
    return " " in key or _spelled_by(_host(url), key)


def _host(url: str) -> str:
    return folded((urlsplit(url).hostname or "").removeprefix("www.").rpartition(".")[0]).replace(" ", "")


def _said(items: Sequence[Item]) -> list[tuple[str, float]]:
    found = []
    for item in items:
        for depth, one in enumerate(nested(item)):
            kinds = types(one)
            if kinds and not _NOT_A_BUSINESS.intersection(kinds) and (name := words(one.get("name"))):
                found.append((name, 8.0 if depth == 0 else 5.0))
            if "WebSite" in kinds or "SoftwareApplication" in kinds:
                found.append((words(one.get("name")), 4.0))
            organisers = [named for role in _ORGANISER if isinstance(named := one.get(role), dict)]
            found += [(words(named), 5.0) for named in organisers if "Person" not in types(named)]
    return found


def _logos(page: Element) -> list[str]:
    """Pictures and links that lead home, and what templates call the brand."""
    found: list[str] = []
    for one in page.walk():
        named = one.named
        if one.tag == "img" and ("logo" in named or "logo" in one.attributes.get("src", "").lower()):
            found.append(one.attributes.get("alt", ""))
        elif one.tag == "meta" and one.attributes.get("itemprop") == "name":
            found.append(one.attributes.get("content", ""))
        elif one.letters and one.letters < 60 and re.search(r"logo|brand|marque|site[-_]?title|\bhome\b", named):
            found.append(one.text(_MOST_NAME))
        elif one.tag == "a" and one.attributes.get("href") in ("/", "./", "/fr/", "/de/", "/en/") and one.letters < 60:
            found.append(one.text(_MOST_NAME) or " ".join(i.attributes.get("alt", "") for i in one.find("img")))
        elif one.tag == "img" and len(found) < 3 and _BANNER.search(one.attributes.get("src", "")):
            found.append(one.attributes.get("alt", ""))
        if len(found) > 12:
            break
    return list(dict.fromkeys(text for text in map(str.strip, found) if text))[:6]


def _rights(page: Element) -> list[str]:
    text = page.body.text(200_000)[-3000:]
    found = [match[1].strip() for match in _RIGHTS.finditer(text)]
    return [_LEGAL_FORM.sub("", name) for name in found[:3]]


def _title_parts(title: str | None) -> list[tuple[str, float]]:
    """Templates put the name last, start pages first."""
    parts = [part.strip() for part in _SEPARATORS.split(title or "") if part and part.strip()]
    if len(parts) < 2:
        return [(part, 1.0) for part in parts]
    found = [(parts[-1], 2.0), (parts[0], 1.5), *((part, 0.5) for part in parts[1:-1])]
    return found + [
        (shorter, weight * 0.9) for part, weight in found if (shorter := _PLACE_AFTER.sub("", part)) != part
    ]


def _is_name(text: str) -> bool:
    return 2 <= len(text) <= 80 and folded(text) not in _NO_NAMES and any(map(str.isalpha, text))


def _spelled_by(host: str, key: str) -> bool:
    plain = key.replace(" ", "")
    for pair in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("é", "e"), ("è", "e"), ("ł", "l"), ("ą", "a")):
        plain = plain.replace(*pair)
    return len(plain) > 3 and (plain in host or host.partition(".")[0] in plain)
