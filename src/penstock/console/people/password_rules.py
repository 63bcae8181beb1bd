"""Which passwords will do. Length is what counts against guessing, so no rule asks for digits and signs, which only
makes people write `Password1!`; but what everybody would try first is refused, however long it is."""

import re
import unicodedata

SHORTEST = 12
LONGEST = 200
_LEAST_DIFFERENT = 5
_LEAST_BESIDE_NAME = 8
_OBVIOUS = frozenset(
    (
        "password",
        "passwort",
        "passphrase",
        "changeme",
        "changemenow",
        "letmein",
        "letmeinplease",
        "welcome",
        "welcomeback",
        "secret",
        "topsecret",
        "qwerty",
        "qwertz",
        "azerty",
        "qwertyuiop",
        "qwertzuiop",
        "asdfghjkl",
        "abcdefghijkl",
        "abcdefghijklm",
        "iloveyou",
        "administrator",
        "admin",
        "root",
        "penstock",
        "correcthorsebatterystaple",
        "correcthorse",
        "trustno",
        "dragon",
        "monkey",
        "football",
        "default",
        "test",
        "testing",
    )
)
_DIGITS = ("01234567890123456789", "98765432109876543210", "12345678901234567890")


def problem_with(password: str, *, name: str) -> str | None:
    """What is wrong with it, as half a sentence; None: nothing."""
    folded = unicodedata.normalize("NFKC", password).casefold()
    if len(password) < SHORTEST:
        return f"use {SHORTEST} characters or more; a few words in a row are easy to remember"
    if len(password) > LONGEST:
        return f"use at most {LONGEST} characters"
    if len(set(folded)) < _LEAST_DIFFERENT:
        return f"use at least {_LEAST_DIFFERENT} different characters"
    if len(folded.replace(name.casefold(), "")) < _LEAST_BESIDE_NAME:
        return "it is little more than your name"
    if _is_obvious(folded):
        return "it is one of the first that anybody would try"
    return None


def _is_obvious(folded: str) -> bool:
    """Also twice in a row, and with digits and signs around and between."""
    letters = re.sub(r"[\W\d_]+", "", folded)
    digits = re.sub(r"\D+", "", folded)
    if not letters:
        return any(digits in row for row in _DIGITS)
    # `password1234` is the word and a row of digits; `password 8151 lamp` is not.
    half = letters[: len(letters) // 2]
    return letters in _OBVIOUS or (letters == half * 2 and half in _OBVIOUS)
