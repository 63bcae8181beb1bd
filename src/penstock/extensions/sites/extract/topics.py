"""What a page is about, by headings, title, menu and structured data, weighed by where they name it; and what one can
buy, book or get there: from JSON-LD and microdata, and from prices that stand beside a name.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from penstock.extensions.sites.extract.element import Element, folded, squeezed
from penstock.extensions.sites.extract.head import Item, nested, types, words
from penstock.extensions.sites.findings import FoundAt, ReadHeading, SiteOffer, SiteTopic
from penstock.language.labels import asks, is_label

MOST_TOPICS = 40
_LONGEST_TOPIC = 80
_LEVEL_WEIGHTS = {1: 3.0, 2: 2.0, 3: 1.2, 4: 0.6}
_SEPARATORS = re.compile(r"\s+[|·•–—»-]\s+|[|｜]|:\s")
_THINGS = frozenset({"Service", "Product", "Course", "Event", "Recipe", "MenuSection", "SoftwareApplication"})
_TAG = re.compile(r"/tags?/[^/]+/?\Z")
_LISTED = re.compile(r"[,;:.]\s+|\s(?:and|und|et|y|e|en|i|ve|и|oder|or|&)\s|、|，|。")
_QUESTION = re.compile(r"[?？]\s*\Z")
MOST_OFFERS = 60
_LONGEST_OFFER = 120
_CURRENCY = r"(?:€|\$|£|¥|₽|₺|zł|kr\.?|CHF|EUR|USD|GBP|Euro|euros?|R\$|TL|руб\.?|円|元|Kč)"
_AMOUNT = r"\d{1,3}(?:[ .,\u00a0']\d{3}){0,3}(?:[.,]\d{1,2})?|\d{1,7}(?:[.,]\d{1,2})?"
PRICE = re.compile(rf"(?<!\w)({_CURRENCY}\s?(?:{_AMOUNT})|(?:{_AMOUNT})\s?{_CURRENCY})(?!\w)", re.IGNORECASE)
_SIGNS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "円", "PLN": "zł"}
_ROWS = frozenset({"tr", "li", "dt", "dd", "p", "div", "article", "td", "section"})
_OFFERED = frozenset({"Product", "Service", "Offer", "MenuItem", "Course", "AggregateOffer", "IndividualProduct"})
_BEFORE = re.compile(
    r"[\s:–—-]+(?:ab|from|à partir de|desde|od|от|vanaf|da|kostet|costs|costa|coûte|стоит)?[\s:–—-]*\Z", re.IGNORECASE
)
_HEADINGS = ("h1", "h2", "h3", "h4")
_LARGE = frozenset({"h2", "h3", "h4", "h5", "strong", "b"})
_NAMED = re.compile(r"\b(?:name|title|item-?name|product-?name)\b|-(?:name|title)\b")
_COSTS = re.compile(r"\b(?:kostet|costs|cuesta|custa|coûte|costa|kost|стоит|kosztuje)\b", re.IGNORECASE)
_MOST_LETTERS = 1500
# Boxes in boxes are looked through again and again: so many boxes, with so many elements inside.
_MOST_LOOKS = 5000
_MOST_INSIDE = 60
_SHORT = 60
_LEADING = re.compile(r"\A(?:the|der|die|das|le|la|el|il)\s+", re.IGNORECASE)


def topics(
    page: Element,
    *,
    headings: Sequence[ReadHeading],
    title: str | None,
    meta: dict[str, str],
    items: Sequence[Item],
    url: str,
) -> tuple[SiteTopic, ...]:
    found: dict[str, SiteTopic] = {}

    def add(text: str, weight: float, quote: str) -> None:
        text = squeezed(text.strip(" .:–—-"), _LONGEST_TOPIC)
        key = folded(text)
        if len(text) < 2 or not key or len(key.split()) > 9 or _says_nothing(text):
            return
        before = found[key] if key in found else SiteTopic(text=text, weight=0.0, place=FoundAt(page=url, quote=quote))
        found[key] = SiteTopic(text=before.text, weight=round(before.weight + weight, 3), place=before.place)

    for heading in headings:
        add(heading.text, _LEVEL_WEIGHTS[heading.level], heading.text)
    for part in _SEPARATORS.split(title or ""):
        add(part or "", 1.5, squeezed(title, 200))
    for word in meta.get("keywords", "").split(",")[:12]:
        add(word, 0.8, squeezed(meta.get("keywords"), 200))
    for text in _tags(page, meta):
        add(text, 1.0, text)
    for text in _phrases(meta.get("description", "")):
        add(text, 0.5, squeezed(meta["description"], 200))
    for one in nested(items):
        if _THINGS.intersection(types(one)):
            add(words(one.get("name")), 2.0, words(one.get("name")))
    for text in _menu(page):
        add(text, 0.7, text)
    ordered = sorted(found.values(), key=lambda one: (-one.weight, one.text))
    return tuple(ordered[:MOST_TOPICS])


def _says_nothing(text: str) -> bool:
    """What stands on every site is what none of them is about; nor does anybody look for a question."""
    return is_label(text) or asks(text) or _QUESTION.search(text) is not None


def _tags(page: Element, meta: dict[str, str]) -> list[str]:
    """What the author filed it under."""
    linked = (
        one
        for one in page.find("a")
        if "tag" in one.attributes.get("rel", "") or _TAG.search(one.attributes.get("href", ""))
    )
    return [*meta.get("article:tag", "").split(","), *(one.text(60) for one in linked)][:12]


def _phrases(description: str) -> list[str]:
    """The short ones between commas: many descriptions list what there is."""
    found = (one.strip() for one in _LISTED.split(description))
    return [one for one in found if 1 <= len(one.split()) <= 3 and len(one) > 3][:8]


def _menu(page: Element) -> list[str]:
    """Words of links to further pages of short lists; a mega menu says everything and so nothing."""
    links = []
    for box in page.walk():
        if box.tag == "nav" or re.search(r"\bnav|menu", box.named):
            links = [one.text(60) for one in box.find("a") if one.letters]
            if links:
                break
    return list(dict.fromkeys(links))[:12] if len(links) <= 25 else []


def offers(parts: Sequence[Element], items: Sequence[Item], url: str) -> tuple[SiteOffer, ...]:
    """Of one page, what is said for machines first. Two of the same name are one."""
    found: dict[str, SiteOffer] = {}
    for text, price, quote in (*_structured(items), *_microdata(parts), *_priced(parts)):
        name = squeezed(text, _LONGEST_OFFER)
        if len(name) < 2 or not any(map(str.isalpha, name)):
            continue
        key = folded(name)
        if key not in found:
            place = FoundAt(page=url, quote=squeezed(quote, 200))
            found[key] = SiteOffer(text=name, price=squeezed(price, 40) or None, place=place)
        elif found[key].price is None and price:
            found[key] = SiteOffer(text=found[key].text, price=squeezed(price, 40), place=found[key].place)
        if len(found) == MOST_OFFERS:
            break
    return tuple(found.values())


def _structured(items: Sequence[Item]) -> Iterator[tuple[str, str, str]]:
    for one in nested(items):
        kinds = types(one)
        if not _OFFERED.intersection(kinds):
            continue
        name = words(one.get("name")) or words(one.get("itemOffered"))
        if name:
            yield name, _price(one), name


def _price(item: Item) -> str:
    for one in nested(item):
        amount, currency = words(one.get("price") or one.get("lowPrice")), words(one.get("priceCurrency"))
        if one.get("price") == 0:
            amount = "0"
        if amount:
            sign = _SIGNS.get(currency, currency)
            return f"{sign}{amount}" if sign in ("$", "£") else f"{amount} {sign}".strip()
    return ""


def _microdata(parts: Sequence[Element]) -> Iterator[tuple[str, str, str]]:
    for part in parts:
        kind = part.attributes.get("itemtype", "").rpartition("/")[2]
        if kind in _OFFERED:
            named = {one.attributes.get("itemprop"): one for one in reversed(list(part.walk()))}
            name, price = named.get("name"), named.get("price")
            if name is not None:
                yield name.text(200), price.text(60) if price is not None else "", part.text(200)


def _priced(parts: Sequence[Element]) -> Iterator[tuple[str, str, str]]:
    """The smallest box with a price and a name; a price alone takes the heading or the term above it."""
    above = ""
    done: set[int] = set()
    looks = _MOST_LOOKS
    for part in parts:
        if part.tag in _HEADINGS or part.tag == "dt":
            above = part.text(200)
        if part.tag not in _ROWS or id(part) in done or part.letters > _MOST_LETTERS:
            continue
        if not looks or sum(1 for _ in islice(part.walk(), _MOST_INSIDE + 1)) > _MOST_INSIDE:
            continue
        looks -= 1
        text = part.text(400)
        price = PRICE.search(text)
        if price is None or _has_named_price(part):
            continue
        done.update(id(one) for one in part.walk())
        name = _title(part) or _named(text[: price.start()]) or above
        if name and len(name) <= _LONGEST_OFFER and (part.tag != "p" or len(text) <= _SHORT or _COSTS.search(text)):
            yield name, price[1], text


def _has_named_price(part: Element) -> bool:
    """Whether a smaller box inside says as much. The cells of a row say it only together."""
    if part.tag == "tr":
        return False
    if len(PRICE.findall(part.text(400))) > 1 and part.tag != "li":
        return True
    for one in part.walk():
        if one is not part and one.tag in _ROWS and one.letters:
            text = one.text(400)
            found = PRICE.search(text)
            if found and (one.tag == "tr" or _title(one) or _named(text[: found.start()])):
                return True
    return False


def _title(part: Element) -> str:
    """What a card or row shows first and large; of a row of a table its first cell."""
    if part.tag == "tr":
        first = next((one.text(200) for one in part.find("td", "th") if one.letters), "")
        return "" if PRICE.search(first) else first
    if part.tag == "p":
        return ""
    found = (one for one in part.walk() if one.tag in _LARGE or _NAMED.search(one.attributes.get("class", "")))
    return next((text for one in found if (text := one.text(200)) and not PRICE.search(text)), "")


def _named(before: str) -> str:
    """The name in front of a price: without the sentence before it, weights, and words such as "from"."""
    name = _BEFORE.sub("", before.strip() + " ").strip()
    sentence = re.split(r"[.!?]\s", name)[-1]
    verb = re.split(r"\s(?:kostet|costs?|cuesta|coûte|стоит|kosten)\b", sentence, maxsplit=1)[0]
    return _LEADING.sub("", verb).strip(" :–—-·|") if len(verb) > 1 else ""
