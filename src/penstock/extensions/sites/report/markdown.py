"""A report as Markdown: the same content for mails, tickets and version control."""

import re
from typing import assert_never

from penstock.extensions.sites.report import content, overview
from penstock.extensions.sites.report.blocks import (
    Block,
    Grid,
    Items,
    Line,
    Meter,
    Pairs,
    Quote,
    Span,
    Title,
    Words,
    safe_link,
)
from penstock.extensions.sites.report.document import Overview, Report

# What Markdown would take for its own: anywhere, and at the beginning of a line.
_SIGNS = re.compile(r"([\\`*_\[\]|~$>])")
_LEADING = re.compile(r"^(\d{0,9})([#+\-=.)])")
_OF_LINKS = str.maketrans({"(": "%28", ")": "%29", "[": "%5B", "]": "%5D", "|": "%7C"})


def markdown(report: Report | Overview) -> str:
    page = content.page(report) if isinstance(report, Report) else overview.page(report)
    parts = [f"# {_text(page.title)}", _line(page.subtitle)]
    for section in page.sections:
        parts.append(f"## {_text(section.title)}")
        parts += [_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Words():
            return _line(block.line)
        case Items():
            return "\n".join(f"- {_line(one)}" for one in block.lines)
        case Pairs():
            return "\n".join(f"- **{_text(label)}**: {_line(value)}" for label, value in block.rows)
        case Title():
            return f"### {_line(block.line)}"
        case Meter():
            return f"**{_line(block.label)}**: {_text(block.words)}"
        case Quote():
            return f"> {_line(block.line)}\n>\n> — {_line(block.source)}"
        case Grid():
            head = " | ".join(_text(one) for one in block.head)
            rows = (f"| {' | '.join(_line(cell) for cell in row)} |" for row in block.rows)
            return "\n".join([f"**{_text(block.caption)}**", "", f"| {head} |", "|---" * len(block.head) + "|", *rows])
        case _:
            assert_never(block)


def _line(line: Line) -> str:
    return "".join(_span(span) for span in line)


def _span(span: Span) -> str:
    text = _text(span.text)
    if span.strong:
        text = f"**{text}**"
    link = safe_link(span.link)
    # Anchors are the page's own; Markdown has none.
    return text if link is None or link.startswith("#") else f"[{text}]({link.translate(_OF_LINKS)})"


def _text(text: str) -> str:
    escaped = _SIGNS.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))
    return _LEADING.sub(r"\1\\\2", escaped)
