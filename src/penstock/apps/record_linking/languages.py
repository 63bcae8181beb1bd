"""Codes of languages, as people write them into cells."""

import re

_BETWEEN = re.compile(r"[\s,;|/]+")
_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,12}){0,2}")


def codes_of(text: str) -> tuple[str, ...]:
    """``pt_BR`` is pt-br, ``en, de`` are two. What is no code is left out; the project's languages follow."""
    found = (one.replace("_", "-") for one in _BETWEEN.split(text.casefold()))
    return tuple(dict.fromkeys(one for one in found if _CODE.fullmatch(one)))
