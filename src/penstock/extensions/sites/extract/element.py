"""A page as a small tree of its own: typed, bounded, and free of the parser's memory.

Markup is tamed before it is parsed. Parsers walk the open elements at every tag, and the attributes at every attribute:
a page of a few hundred kilobytes made for that keeps them busy for minutes. Text is never dropped.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

DEEPEST = 300
_MOST_ATTRIBUTES = 200
_LONG_TAG = 2000
_NEXT = re.compile(r"<(?:(!--)|(/?)([A-Za-z][A-Za-z0-9:-]{0,40})([^<>]*)>)")
_ATTRIBUTE = re.compile(r"""[^\s"'=<>/]+(?:\s{0,20}=\s{0,20}(?:"[^"]*"|'[^']*'|[^\s"']+))?""")
_RAW = frozenset({"script", "style", "textarea", "title", "xmp"})
# They have no end, or end by themselves where the next one begins: they do not nest.
_FLAT = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "colgroup", "html", "head", "body",
})  # fmt: skip
# What PostgreSQL cannot keep, and what only steers terminals.
_UNKEPT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ud800-\udfff]")
_CASELESS = re.compile(r"[^\W_]+")
MOST_ELEMENTS = 30_000
# What parsers add around cells and rows comes on top of what the page nests.
_DEEPEST = DEEPEST * 2
_UNSEEN = frozenset({
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "math", "head", "title", "select",
    "datalist",
})  # fmt: skip
INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "em", "font", "i", "kbd", "label", "mark", "q",
    "s", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var",
})  # fmt: skip


def tamed(markup: str) -> str:
    kept: list[str] = []
    at = depth = 0
    folded = markup.lower() if len(markup.lower()) == len(markup) else markup
    while (found := _NEXT.search(markup, at)) is not None:
        begin, end = found.span()
        name = (found[3] or "").lower()
        if found[1]:
            end = _after(folded, "-->", end)
            kept.append(markup[at:begin])
        elif name in _RAW and not found[2]:
            end = _after(folded, f"</{name}", end)
            kept.append(markup[at:end])
        else:
            depth, shown = _tag(found, name, depth)
            kept.append(markup[at:begin] + shown)
        at = end
    kept.append(_finished(markup[at:]))
    return "".join(kept)


def _finished(rest: str) -> str:
    """Without a tag that the page ends in, as browsers have it: its attributes were never counted."""
    begin = rest.rfind("<")
    unfinished = begin != -1 and ">" not in rest[begin:] and rest[begin + 1 : begin + 2].isalpha()
    return rest[:begin] if unfinished else rest


def _tag(found: re.Match[str], name: str, depth: int) -> tuple[int, str]:
    """The depth after it, and what stays of it."""
    if name in _FLAT:
        return depth, _slim(found)
    if found[2]:
        return max(depth - 1, 0), found[0]
    if depth >= DEEPEST:
        return depth + 1, ""
    return depth + 1, _slim(found)


def _slim(found: re.Match[str]) -> str:
    attributes = found[4]
    if len(attributes) < _LONG_TAG:
        return found[0]
    count = sum(1 for _ in zip(_ATTRIBUTE.finditer(attributes), range(_MOST_ATTRIBUTES + 1), strict=False))
    return found[0] if count <= _MOST_ATTRIBUTES else f"<{found[2]}{found[3]}>"


def _after(folded: str, closing: str, at: int) -> int:
    end = folded.find(closing, at)
    return len(folded) if end == -1 else end + (len(closing) if closing == "-->" else 0)


def squeezed(text: str | None, most: int) -> str:
    """White space of any kind becomes one space; cut at a word, where there is one."""
    if not text:
        return ""
    # Ten times as much is looked at: more is white space or an attack.
    words = " ".join(_UNKEPT.sub("", text[: most * 10]).split())
    if len(words) <= most:
        return words
    cut = words[:most]
    return (cut.rpartition(" ")[0] or cut) if " " in cut[most // 2 :] else cut


def folded(text: str) -> str:
    """For comparing: letters and digits only, without case."""
    return " ".join(_CASELESS.findall(text.casefold()))


def unique(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """The first of those that read the same, in their order."""
    seen: dict[str, str] = {}
    for text in texts:
        key = folded(text)
        if key and key not in seen:
            seen[key] = text
            if len(seen) == most:
                break
    return tuple(seen.values())


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
    def body(self) -> "Element":
        return next(self.find("body"), self)

    @property
    def named(self) -> str:
        """Its id, class, role and label: what its author called it."""
        found = (self.attributes.get(key, "") for key in ("id", "class", "role", "aria-label", "data-elementor-type"))
        return " ".join(found).lower()[:400]


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
