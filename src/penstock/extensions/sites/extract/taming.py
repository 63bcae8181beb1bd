"""Takes from markup what makes parsers slow, in one pass: endless nesting, and tags with thousands of attributes.

Parsers walk the open elements at every tag, and the attributes at every attribute: a page of a few hundred kilobytes
made for that keeps them busy for minutes. Text is never dropped.
"""

import re

DEEPEST = 300
_MOST_ATTRIBUTES = 200
_LONG_TAG = 2000
_NEXT = re.compile(r"<(?:(!--)|(/?)([A-Za-z][A-Za-z0-9:-]{0,40})([^<>]*)>)")
_ATTRIBUTE = re.compile(r"""[^\s"'=<>/]+(?:\s{0,20}=\s{0,20}(?:"[^"]*"|'[^']*'|[^\s"']+))?""")
_RAW = frozenset({"script", "style", "textarea", "title", "xmp"})
# They have no end, or end by themselves where the next one begins: they do not nest.
_FLAT = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "p",
        "li",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "tfoot",
        "option",
        "colgroup",
        "html",
        "head",
        "body",
    ]
)


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
