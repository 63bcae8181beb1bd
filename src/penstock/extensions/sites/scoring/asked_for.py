"""What kind of thing a question asks for, and whether a sentence holds one.

"How much is X?" is not answered by a sentence about X without an amount, however near the two are in meaning. Words for
the kind itself ("cost", "open") then say nothing about the subject and are left out of the comparison of words.
"""

import re
from dataclasses import dataclass

_CURRENCY = (
    r"(?:[€$£¥₹]|\b(?:euros?|eur|dollars?|usd|pounds?|gbp|chf|francs?|franken|pln|kr|sek|nok|dkk|yen|złoty|zł)\b)"
)
_NUMBER = r"\d[\d.,\u00a0 ]*"
_WEEKDAY = (
    r"\b(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?s?\b|\bweekdays?\b|\bdaily\b|\b(?:mon|diens|donners|frei|sams|sonn)tags?\b"
    r"|\bmittwochs?\b|\btäglich\b|\bwerktags\b|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b"
    r"|\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\b|\b(?:lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica)\b"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """``asks`` finds it in a question, ``holds`` in an answer."""

    name: str
    asks: re.Pattern[str]
    holds: re.Pattern[str]


def _kind(name: str, asks: str, holds: str) -> Kind:
    return Kind(name, re.compile(asks, re.IGNORECASE), re.compile(holds, re.IGNORECASE))


PRICE = _kind(
    "price",
    r"\bhow much\b|\bcosts?\b|\bprice[sd]?\b|\bpricing\b|\bfees?\b|\bkoste[nt]\b|\bpreise?\b|\bwie viel\b"
    r"|\bcombien coût\w*|\bcoûte\w*"
    r"|\bprix\b|\btarifs?\b|\bprecios?\b|\bcuestan?\b|\bprezz[oi]\b|\bquanto costa\w*|\bprijs\w*|\bpreço\w*"
    r"|\bkost\b|\bcustam?\b|\bkosztuj\w*|\bcena\b|\bile\b",
    rf"{_CURRENCY}\s*{_NUMBER}|{_NUMBER}\s*{_CURRENCY}|\bfree\b|\bkostenlos\b|\bgratuite?s?\b|\bgratis\b",
)
HOURS = _kind(
    "hours",
    r"\b(?:when|what time|until when|hours)\b.*\b(?:open|close[sd]?|opening)\b|\bopen(?:ing)? (?:hours|times|on)\b"
    r"|\bwann\b.*\b(?:geöffnet|offen|auf)\b|\böffnungszeiten\b|\bquand\b.*\bouvert\w*|\bhoraires\b|\bhorarios?\b|\borario?\b"
    r"|\bopeningstijden\b|\bis\b.*\bopen on\b",
    rf"\b\d{{1,2}}[:.h]\d\d\b|\b\d{{1,2}}\s*(?:am|pm|uhr|h)\b|{_WEEKDAY}",
)
CONTACT = _kind(
    "contact",
    r"\bcontact\b|\bphone number\b|\bget in touch\b|\breach\b|\btelefon\w*|\bkontakt\w*|\berreich\w*|\btéléphone\b"
    r"|\bjoindre\b"
    r"|\bcontacto\b|\bcontactar\b|\bcontattare\b|\bbereiken\b|\bskontaktowa\w*",
    r"[\w.+-]+@[\w-]+\.\w+|(?:\+|\b)\d[\d ()/.-]{5,}\d|\be-?mails?\b|\bcontact form\b|\bkontaktformular\b",
)
LENGTH = _kind(
    "length",
    r"\bhow long\b|\bhow quick\w*|\bhow fast\b|\bwie lange\b|\bwie schnell\b|\bcombien de temps\b"
    r"|\bcuánto tiempo\b|\bquanto tempo\b",
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve|zwei|drei|vier|deux|trois|quatre)\b.{0,20}"
    r"\b(?:minutes?|hours?|days?|weeks?|months?|years?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|heures?|jours?"
    r"|semaines?|mois"
    r"|ans|años|días|horas|giorni|ore)\b|\bsince \d{4}|\bseit \d{4}|\bdepuis \d{4}|\bwhile you wait\b",
)
PLACE = _kind(
    "place",
    r"\bwhere (?:is|are|can i find)\b|\baddress\b|\bwo (?:ist|sind|liegt|finde)\b|\badresse\b"
    r"|\boù (?:se trouve|est|sont)\b"
    r"|\bdónde está\b|\bdove (?:si trova|è)\b",
    r"(?-i:\b\d+[a-z]?,? [A-ZÀ-Ý]\w+|\b[A-ZÀ-Ý][\w.]+ \d+[a-z]?\b(?! ?\d))"
    r"|\b(?:street|road|avenue|square|straße|strasse|platz|rue|calle|via)\b"
    r"|\b(?:at|in|near|am|im|à|en)\s+(?-i:[A-ZÀ-Ý])",
)
KINDS = (PRICE, HOURS, CONTACT, LENGTH, PLACE)


def asked_for(question: str) -> Kind | None:
    return next((kind for kind in KINDS if kind.asks.search(question)), None)


def subject(question: str, kind: Kind | None) -> str:
    """The question without the words that name the kind; the whole one where nothing would be left."""
    return question if kind is None else kind.asks.sub(" ", question)
