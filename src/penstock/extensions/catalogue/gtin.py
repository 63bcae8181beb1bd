"""Global trade item numbers: EAN, UPC and their kin, all written as 14 digits."""

import re

from penstock.insight.wording import counted

_LENGTHS = (8, 12, 13, 14)
_BETWEEN = re.compile(r"[\s\-–.]+")
_ROUNDED = re.compile(r"\d(?:[.,]\d+)?e\+?\d+", re.IGNORECASE)


class NoGtin(ValueError):
    """Why a text is no GTIN, in words that fit behind "because"."""


def gtin_of(text: str) -> str:
    """14 digits with leading zeros; raises :class:`NoGtin`."""
    given = text.strip().removesuffix(".0").removesuffix(",0")
    if _ROUNDED.fullmatch(given):
        raise NoGtin(f"{text!r} was rounded by a spreadsheet; format the column as text")
    digits = _BETWEEN.sub("", given)
    if not (digits.isascii() and digits.isdigit()):
        raise NoGtin(f"{text!r} holds other characters than digits")
    if len(digits) not in _LENGTHS:
        raise NoGtin(f"{text!r} has {counted(len(digits), 'digit')}; 8, 12, 13 and 14 are possible")
    if not int(digits):
        raise NoGtin(f"{text!r} is all zeros")
    if check_digit(digits[:-1]) != int(digits[-1]):
        raise NoGtin(f"the check digit of {text!r} is wrong; it would be {check_digit(digits[:-1])}")
    return digits.zfill(14)


def check_digit(digits: str) -> int:
    """Of all but the last digit. Counted from the right, so leading zeros change nothing."""
    total = sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits)))
    return -total % 10
