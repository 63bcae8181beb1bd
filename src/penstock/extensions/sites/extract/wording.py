"""Words as they are kept: one space between them, never longer than asked for."""

import re
from collections.abc import Iterable

# What PostgreSQL cannot keep, and what only steers terminals.
_UNKEPT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff\ud800-\udfff]")
_CASELESS = re.compile(r"[^\W_]+")


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
