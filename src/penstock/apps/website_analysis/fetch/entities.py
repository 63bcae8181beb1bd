"""Entities of HTML, of which a stranger may write any number with any number of digits."""

import html
import re

# Python refuses to read numbers of thousands of digits. No character has a number this long.
_ENDLESS = re.compile(r"&#[0-9]{20,};?")


def unescaped(text: str) -> str:
    """Never raises; a number that no character has becomes the sign for a broken character."""
    return html.unescape(_ENDLESS.sub("\ufffd", text))
