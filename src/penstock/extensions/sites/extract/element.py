"""A page as a small tree of its own: typed, bounded, and free of the parser's memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from penstock.extensions.sites.extract.taming import DEEPEST, tamed

MOST_ELEMENTS = 30_000
# What parsers add around cells and rows comes on top of what the page nests.
_DEEPEST = DEEPEST * 2
_UNSEEN = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "iframe",
        "object",
        "canvas",
        "math",
        "head",
        "title",
        "select",
        "datalist",
    ]
)


@dataclass(slots=True, kw_only=True, eq=False)
class Element:
    tag: str
    attributes: dict[str, str]
    children: "list[Element | str]" = field(default_factory=list)
    # Filled in once the tree stands: letters that people see, and those of them inside links.
    letters: int = 0
    link_letters: int = 0

    def walk(self) -> "Iterator[Element]":
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(child for child in reversed(one.children) if isinstance(child, Element))

    def find(self, *tags: str) -> "Iterator[Element]":
        return (one for one in self.walk() if one.tag in tags)

    @property
    def seen(self) -> bool:
        return self.tag not in _UNSEEN

    def text(self, most: int = 2000) -> str:
        """What people see of it, line breaks as spaces."""
        parts: list[str] = []
        length = 0
        waiting: list[Element | str] = [self]
        while waiting and length < most:
            one = waiting.pop()
            if isinstance(one, str):
                parts.append(one)
                length += len(one)
            elif one.seen or one is self:
                # A span with a class is often a box of its own.
                if one.tag not in INLINE or one.attributes.get("class"):
                    parts.append(" ")
                    waiting.append(" ")
                waiting.extend(reversed(one.children))
        return " ".join("".join(parts).split())[:most]

    @property
    def named(self) -> str:
        """Its id, class, role and label: what its author called it."""
        found = (self.attributes.get(key, "") for key in ("id", "class", "role", "aria-label", "data-elementor-type"))
        return " ".join(found).lower()[:400]


INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "em",
        "font",
        "i",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
    ]
)


def parsed(markup: str) -> Element:
    """Never fails for odd HTML; more than ``MOST_ELEMENTS`` are left out."""
    root = LexborHTMLParser(tamed(markup)).root
    top = Element(tag="html", attributes={})
    if root is not None:
        top.attributes = _attributes(root)
        _fill(top, root)
    _count(top)
    return top


def _fill(top: Element, root: LexborNode) -> None:
    waiting: list[tuple[Element, LexborNode, int]] = [(top, root, 0)]
    count = 0
    while waiting:
        element, node, depth = waiting.pop()
        for child in node.iter(include_text=True):
            tag = child.tag or ""
            if tag == "-text":
                element.children.append(child.text_content or "")
            elif not tag.startswith(("-", "!", "_")) and depth < _DEEPEST and count < MOST_ELEMENTS:
                count += 1
                one = Element(tag=tag, attributes=_attributes(child))
                element.children.append(one)
                waiting.append((one, child, depth + 1))


def _attributes(node: LexborNode) -> dict[str, str]:
    return {str(name).lower(): value or "" for name, value in node.attributes.items()}


def _count(top: Element) -> None:
    """Children before parents."""
    for one in reversed(list(top.walk())):
        if not one.seen:
            continue
        for child in one.children:
            if isinstance(child, str):
                one.letters += sum(map(str.isalnum, child))
            else:
                one.letters += child.letters
                one.link_letters += child.link_letters
        if one.tag == "a" and one.attributes.get("href") is not None and not _holds_heading(one):
            one.link_letters = one.letters


def _holds_heading(link: Element) -> bool:
    """The card of a product is often one link around a heading: that is content."""
    return any(isinstance(child, Element) and child.tag in ("h1", "h2", "h3", "h4") for child in link.children)
