"""From somebody's JSON to an answer: only plain values, only of a sane length.

Dotted paths such as ``offers[0].price`` say where a value is. A path is data; nothing is evaluated.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson

from penstock.errors import UsageError
from penstock.extensions.catalogue.folding import tidy
from penstock.extensions.catalogue.provider import NUMBERS, Answer
from penstock.extensions.catalogue.understood import NoGtin, gtin_of, price_of

_LONGEST = 2000
_LONGEST_REFUSAL = 300
Step = str | int
_STEP = re.compile(r"\.?([^.\[\]\s]+)|\[(\d{1,6})\]")
_LONGEST_PATH = 500


def answer_of(data: Any, paths: Mapping[str, tuple[Step, ...]]) -> Answer | None:
    """None, a miss, for an answer with neither title nor price."""
    said = {name: _plain(name, value_at(data, steps)) for name, steps in paths.items()}
    if said.get("title") is None and said.get("price") is None:
        return None
    gtin, sku = (said.pop(name, None) for name in NUMBERS)
    return Answer(gtin=_gtin(gtin), sku=None if sku is None else str(sku), fields=said)


def refusal_in(body: bytes) -> str | None:
    """What the provider has against the question, as services put it: ``error``, ``detail`` or ``message``."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    told = [data.get(name) for name in ("error", "detail", "message")] if isinstance(data, dict) else []
    texts = [tidy(one.replace("\0", ""))[:_LONGEST_REFUSAL].rstrip(".") for one in told if isinstance(one, str)]
    return next(filter(None, texts), None)


def _plain(name: str, value: Any) -> str | float | None:
    if name == "price":
        return _price(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = tidy(str(value).replace("\0", ""))[:_LONGEST]
    if name == "url" and urlsplit(text).scheme not in ("http", "https"):
        return None  # it will be shown as a link
    return text or None


def _gtin(value: str | float | None) -> str | None:
    """What is no GTIN says nothing about the product."""
    try:
        return None if value is None else gtin_of(str(value))
    except NoGtin:
        return None


def _price(value: Any) -> float | None:
    """Numbers as they are; texts in the forms people write."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    price = price_of(value) if isinstance(value, str) else value
    return float(price) if price is not None and 0 <= price < 1e11 else None


def parse(path: str) -> tuple[Step, ...]:
    """The steps, names and positions; raises where the path cannot be understood."""
    steps: list[Step] = []
    text, at = path.strip(), 0
    while at < len(text) <= _LONGEST_PATH:
        found = _STEP.match(text, at)
        if found is None or (found[1] and bool(steps) != text[at:].startswith(".")):
            break
        steps.append(found[1] if found[1] is not None else int(found[2]))
        at = found.end()
    if not steps or at < len(text):
        raise UsageError(f"{path[:80]!r} is no path into JSON. Write names and positions, such as offers[0].price.")
    return tuple(steps)


def value_at(data: Any, steps: tuple[Step, ...]) -> Any:
    """None where the path leads nowhere."""
    for step in steps:
        if isinstance(step, int):
            data = data[step] if isinstance(data, list) and step < len(data) else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
        if data is None:
            return None
    return data
