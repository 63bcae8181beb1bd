"""How to reach the business (mail, telephone, postal addresses, profiles elsewhere), and in which towns it works."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from penstock.extensions.sites.extract.element import Element, squeezed, unique
from penstock.extensions.sites.extract.head import Item, nested, words
from penstock.extensions.sites.findings import SiteContacts

_MOST = 20
_MOST_TEXT = 200_000
_EMAIL = re.compile(r"(?<![\w.+-])([A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5})")
_FILE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".js", ".css")
# Digits in groups, as people write numbers: seven to fifteen in all.
_PHONE = re.compile(r"(?<![\w.,/-])(\+?\(?\d{1,5}\)?(?:[ \u00a0./-]{1,2}\(?\d{1,6}\)?){1,6})(?![\w/-]|[.,]\d)")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|(?:19|20)\d\d ?[-–/] ?(?:19|20)\d\d")
_CALLED = re.compile(
    r"(?:tel|phone|telefon|telephone|téléphone|teléfono|telefone|fon|call|電話|电话|電话|тел|telefoon|mobil)\W{0,5}\Z",
    re.IGNORECASE,
)
# A street with a number, a post code and a town, with commas or line breaks between them.
_ADDRESS = re.compile(
    r"([^\W\d_][\w .'’-]{2,40}\s\d{1,4}[a-z]?|\d{1,4},?\s[^\W\d_][\w .'’-]{2,40})\s?[,·|\n]\s?"
    r"((?:[A-Z]{1,2}-)?\d{2,5}(?:[- ]\d{2,4})?(?:\s[A-Z]{2})?\s[^\W\d_][\w'’-]{2,30})"
)
_MOST_PLACES = 20
_IN = re.compile(
    r"\b(?:in|aus|bei|near|à|en|em|a|bij|w|в)\s+"
    r"([A-ZÀ-ÝА-ЯİŞÇ][\wÀ-ÿ'’-]{2,30}(?:\s(?:am|an der|sur|upon|de|del|do)\s[A-ZÀ-Ý][\wÀ-ÿ'’-]{2,30})?)"
)
_TOWN = re.compile(r"\b(?:[A-Z]{1,2}-)?\d{2}[\d -]{2,5}\s(?:[A-Z]{2}\s)?([A-ZÀ-Ý][\wÀ-ÿ'’-]{2,30})")


def contacts(page: Element, items: tuple[Item, ...]) -> SiteContacts:
    seen = page.body.text(_MOST_TEXT)
    objects = list(nested(items))
    written = (squeezed(f"{street}, {town}", 200) for street, town in _ADDRESS.findall(seen[:50_000]))
    return SiteContacts(
        emails=unique((*_mail_links(page), *_said(objects, "email"), *_emails(seen)), _MOST),
        phones=_phones((*_phone_links(page), *_said(objects, "telephone"), *_numbers(seen))),
        addresses=unique((*_postal(objects), *written), _MOST),
        profiles=_profiles(objects),
    )


def _mail_links(page: Element) -> Iterator[str]:
    for link in page.find("a"):
        href = link.attributes.get("href", "")
        if href.lower().startswith("mailto:"):
            for found in _EMAIL.findall(unquote(href[7:300]).partition("?")[0]):
                yield found.lower().rstrip(".")


def _emails(text: str) -> Iterator[str]:
    for found in _EMAIL.findall(text):
        if not found.lower().endswith(_FILE_ENDINGS):
            yield found.lower().rstrip(".")


def _phone_links(page: Element) -> Iterator[str]:
    for link in page.find("a"):
        href = link.attributes.get("href", "")
        if href.lower().startswith("tel:"):
            shown = _PHONE.search(link.text(100))
            yield shown[1] if shown else unquote(href[4:60])


def _numbers(text: str) -> Iterator[str]:
    for found in _PHONE.finditer(text):
        number = found[1].strip()
        digits = sum(map(str.isdigit, number))
        if not 7 <= digits <= 15 or _DATE.search(number):
            continue
        before = text[max(found.start() - 20, 0) : found.start()]
        if number.startswith(("+", "(", "0")) or _CALLED.search(before) or digits == 10:
            yield number


def _phones(numbers: tuple[str, ...]) -> tuple[str, ...]:
    """Two that end in the same digits are one, with or without the country."""
    kept: dict[str, str] = {}
    for number in numbers:
        digits = "".join(filter(str.isdigit, number))
        if 6 <= len(digits) <= 15:
            kept.setdefault(digits[-7:], squeezed(number, 40))
    return tuple(kept.values())[:_MOST]


def _said(objects: list[Item], name: str) -> Iterator[str]:
    for one in objects:
        if text := words(one.get(name)):
            yield text.removeprefix("mailto:").removeprefix("tel:")


def _postal(objects: list[Item]) -> Iterator[str]:
    for one in objects:
        address = one.get("address")
        if isinstance(address, str):
            yield squeezed(address, 200)
        elif isinstance(address, dict):
            town = " ".join(filter(None, (words(address.get("postalCode")), words(address.get("addressLocality")))))
            parts = (words(address.get("streetAddress")), town, words(address.get("addressCountry")))
            if text := ", ".join(filter(None, parts)):
                yield squeezed(text, 200)


def _profiles(objects: list[Item]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in objects:
        given = one.get("sameAs")
        for url in given if isinstance(given, list) else [given]:
            if isinstance(url, str) and url.startswith(("http://", "https://")):
                found[url[:500]] = None
    return tuple(found)[:_MOST]


def places(items: Sequence[Item], sayings: Sequence[str], addresses: Sequence[str]) -> tuple[str, ...]:
    """Towns of addresses, areas served, and "in <town>" in ``sayings``: title, description and headings. In running
    text "in" begins too many other things."""
    towns = [found[1] for address in addresses if (found := _TOWN.search(address))]
    named = [found[1] for text in sayings for found in _IN.finditer(text[:500])]
    return unique((*_in_data(items), *towns, *named), _MOST_PLACES)


def _in_data(items: Sequence[Item]) -> Iterator[str]:
    for one in nested(items):
        if town := words(one.get("addressLocality")):
            yield town
        area = one.get("areaServed")
        for place in area if isinstance(area, list) else [area]:
            if text := words(place):
                yield squeezed(text, 60)
