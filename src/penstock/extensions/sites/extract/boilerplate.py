"""What of a page is around its content: menus, footers, banners, dialogs. By role and name, then by what is in it."""

import re

from penstock.extensions.sites.extract.element import Element

_NEVER = frozenset(
    [
        "nav",
        "footer",
        "aside",
        "form",
        "button",
        "dialog",
        "amp-sidebar",
        "amp-ad",
        "amp-analytics",
        "amp-consent",
        "menu",
        "input",
        "textarea",
    ]
)
_ROLES = frozenset(
    [
        "navigation",
        "banner",
        "contentinfo",
        "complementary",
        "search",
        "dialog",
        "alertdialog",
        "menubar",
        "menu",
        "toolbar",
        "tablist",
    ]
)
# Whatever is inside: nobody calls content so.
_SURELY = re.compile(
    r"cookie|consent|gdpr|breadcrumb|brotkrume|skip-?link|sr-only|newsletter|site-?notice|"
    r"jump-link|jump-to|pagination|catlinks|print-?footer|toc\b|table-of-contents|share|teilen|social-|"
    r"comments?-area|\bcomments\b|disqus|respond\b|related|upsell|recommend|"
    r"most-read|advert|\bads?\b|\bad-|announcement|promo-?bar|topbar|page-header|site-header|"
    r"site-footer|page-footer|site_footer|site_header|masthead|colophon|author-box|byline|"
    r"copyright|\bdrawer|facets|entry-meta|post-meta|back-to-top|siteinfo"
)
# Only where most of it is links or it is short: a restaurant calls its dishes a menu, too.
_MAYBE = re.compile(
    r"nav|menu|header|(?<![\w-])head(?![\w-])|kopf|cabecera|entete|footer|foot\b|fuss|footer|stopka|\bpie\b|sidebar|side\b|"
    r"widget|banner|aside|toolbar|topbar|\btop\b|bottom|links|liens|\bmeta\b|autor|author\b|tags?\b|sitesub|"
    r"position|\bmore\b|float|sticky|popup|modal|overlay|search|login|langu|logo|brand|marque|contacto|kontakt|"
    r"newsletter|teaser|legal|impressum"
)
_CONTACT = re.compile(
    r"©|\(c\)|copyright|all rights|rechte vorbehalten|rights reserved|impressum|datenschutz|privacy|mentions l|"
    r"aviso legal|cookies?\b|版权|@[a-z0-9-]+\.[a-z]|\btel\b|telefon|téléphone|teléfono|電話|电话|телефон|\bfax\b|"
    r"\+\d|\d{3,5}[ -]\d{2,4}[ -]\d{2,4}|\b\d{5}\b|hakları saklıdır|last (?:updated|edited)",
    re.IGNORECASE,
)
_HEADINGS = ("h1", "h2", "h3", "h4")
_SHORT = 200


def is_around(one: Element, *, inside: bool, total: int) -> bool:
    """``inside``: within the main part or an article, where headers and asides may be content. ``total``: letters of
    the page, as nothing that holds most of it can be around it."""
    if _hidden(one):
        return True
    if one.letters > total * 0.6 and one.tag not in _NEVER:
        return False
    if one.tag in _NEVER or one.attributes.get("role", "").lower() in _ROLES:
        return not (one.tag == "form" and one.letters > total * 0.4)
    if one.tag == "header":
        return not inside and not _has_content(one)
    named = one.named
    if named and _SURELY.search(named) and one.tag not in ("body", "html", *_HEADINGS):
        return not _has_long_heading_part(one, total)
    if named and _MAYBE.search(named) and one.tag not in ("body", "html", *_HEADINGS):
        return _mostly_links(one) or (one.letters < _SHORT and not _has_content(one)) or _is_imprint(one, total)
    return _is_list_of_links(one)


def is_page_end(one: Element, total: int) -> bool:
    """The last part of a page that gives an address or says whose rights it are, whatever it is called."""
    return _is_imprint(one, total)


def is_page_begin(one: Element) -> bool:
    """The first part of a page: a name and links."""
    if _mostly_links(one):
        return True
    short = one.letters < _SHORT
    return short and not any(True for _ in one.find("p", *_HEADINGS)) and one.link_letters * 3 > one.letters


def _hidden(one: Element) -> bool:
    if "hidden" in one.attributes or one.attributes.get("aria-hidden") == "true":
        return True
    style = one.attributes.get("style", "").replace(" ", "").lower()
    return "display:none" in style or "visibility:hidden" in style


def _has_content(one: Element) -> bool:
    """A heading that is no link to the start page, or a sentence of some length outside links."""
    for part in one.find("h1", "h2", "p"):
        if part.tag == "p" and part.letters - part.link_letters > 80:
            return True
        if part.tag != "p" and part.letters and part.link_letters < part.letters:
            return True
    return False


def _has_long_heading_part(one: Element, total: int) -> bool:
    """Something called "share" that holds a third of the page and a headline is content with an odd name."""
    return one.letters > total * 0.33 and any(True for _ in one.find("h1"))


def _mostly_links(one: Element) -> bool:
    return one.link_letters > one.letters * 0.5


def _is_list_of_links(one: Element) -> bool:
    if one.tag not in ("ul", "ol", "p", "div", "table", "td", "tr", "section", "center"):
        return False
    if one.letters == 0 or one.link_letters <= one.letters * 0.6:
        return False
    links = [link for link in one.find("a") if link.letters]
    sentences = sum(link.letters > 60 for link in links)
    return len(links) >= 2 and sentences * 2 <= len(links)


def _is_imprint(one: Element, total: int) -> bool:
    if one.letters > total * 0.3 or any(True for _ in one.find("h1", "h2")):
        return False
    found = {match[0].lower() for match in _CONTACT.finditer(one.text(1500))}
    # A paragraph that asks people to call is content; one that also gives an address is not.
    return len(found) >= (2 if one.tag == "p" else 1)
