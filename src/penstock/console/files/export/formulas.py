"""Cells that a spreadsheet would run as a formula when it opens a CSV file.

An apostrophe in front makes them text. Cells that look as if they had one already get one as well, so that taking one
away gives back every text there is.
"""

import re

# The signs at which spreadsheets begin to calculate, also in their full width, and what some of them skip before those.
_SIGNS = "-=+@\t\r\n＝＋－＠"
# The same pattern goes to PostgreSQL, so it is written in what both know.
PATTERN = f"^'*[{_SIGNS}]"
BEGINNINGS = "'" + _SIGNS
_GUARDED = re.compile(PATTERN)


def guard(text: str) -> str:
    """Harmless in any spreadsheet. ``unguard`` gives the text back."""
    return f"'{text}" if _GUARDED.match(text) else text


def unguard(text: str) -> str:
    """The text that ``guard`` was given."""
    return text[1:] if text.startswith("'") and _GUARDED.match(text) else text
