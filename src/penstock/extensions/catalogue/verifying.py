"""Whether an answer is about the product of the row. Pure.

A provider behind HTTP may answer a number or a title with whatever its search liked best, so its answer is held
against the row by the rules that the local products are found by.
"""

from dataclasses import dataclass

from penstock.extensions.catalogue.folding import fold, numbers, with_brand
from penstock.extensions.catalogue.provider import Answer, Hit, Query, Rejected
from penstock.extensions.catalogue.understood import Understood

# A part of a title that is spelled less alike than this is another word.
LEAST_WORD_SIMILARITY = 0.6
# Parts of a model number that shops write apart.
_MOST_JOINED = 4
# Of an answer to a number that holds nothing to compare with the row.
_UNCONFIRMED = 0.5
_EXACT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What of the row and of the answer is compared, both folded, with the brand in front."""

    asked: str
    answered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """By trigrams: of the whole texts, and of the shorter one with the part of the longer that is most like it."""

    whole: float
    part: float


def other_gtin(row: Understood, gtin: str | None) -> bool:
    """Two GTINs that differ are two products, however alike their titles are. One that is missing says nothing."""
    return row.gtin is not None and gtin is not None and row.gtin != gtin


def by_number(query: Query, answer: Answer) -> Hit | Rejected | None:
    """What the numbers alone decide; None: nothing."""
    row = query.row
    if other_gtin(row, answer.gtin):
        return Rejected(f"it has the GTIN {answer.gtin}")
    if row.gtin is not None and row.gtin == answer.gtin:
        return Hit(match="gtin", score=_EXACT, fields=answer.fields)
    asked, answered = _plain(row.sku), _plain(answer.sku)
    if asked is None or answered is None:
        return None
    if asked != answered:
        # Shops number as they like: it counts only where the number was asked for.
        return Rejected(f"it has the article number {answer.sku}") if query.kind == "sku" else None
    if _other_brand(row, answer):
        return Rejected(f"its brand is {answer.brand}")
    return Hit(match="sku", score=_EXACT, fields=answer.fields)


def texts_of(query: Query, answer: Answer) -> Texts | None:
    """None: the row or the answer has no title. Always the whole title of the row: a wider guess widens what is asked,
    not what is believed."""
    title = fold(query.row.title or "")
    if not title or not answer.title:
        return None
    asked = with_brand(fold(query.row.brand or ""), title)
    return Texts(asked=asked, answered=with_brand(fold(answer.brand or ""), fold(answer.title)))


def by_text(
    query: Query, answer: Answer, texts: Texts | None, likeness: Likeness | None, threshold: float
) -> Hit | Rejected:
    """What titles and brands decide where the numbers did not."""
    if _other_brand(query.row, answer):
        return Rejected(f"its brand is {answer.brand}")
    if texts is None or likeness is None:
        if query.by_number:
            return Hit(match=query.kind, score=_UNCONFIRMED, fields=answer.fields)
        return Rejected("it has no title to compare")
    if numbers_differ(texts.asked, texts.answered):
        return Rejected("the numbers in its title differ")
    # Where the number was asked for, one title may hold more than the other.
    part_is_enough = query.by_number and likeness.part >= max(threshold, LEAST_WORD_SIMILARITY)
    if likeness.whole < threshold and not part_is_enough:
        return Rejected("its title is too different")
    return Hit(match=query.kind, score=round(likeness.whole, 3), fields=answer.fields)


def numbers_differ(asked: str, known: str) -> bool:
    """A drill of 500 W is not the one of 600 W, however alike the rest is. A title that leaves numbers out contradicts
    nothing."""
    return not (numbers(asked) <= _written(known) or numbers(known) <= _written(asked))


def _written(title: str) -> frozenset[str]:
    """Its words, and neighbours as one word: "PS-LX350H" is also "PSLX350H"."""
    words = title.split()
    return frozenset("".join(words[at : at + many]) for many in range(1, _MOST_JOINED + 1) for at in range(len(words)))


def _other_brand(row: Understood, answer: Answer) -> bool:
    """Both are known, and neither stands in the other or in its title: "Zephyr" is also "Zephyr Tools"."""
    one, other = fold(row.brand or ""), fold(answer.brand or "")
    if not one or not other:
        return False
    return not (
        _stands_in(one, f"{other} {fold(answer.title or '')}") or _stands_in(other, f"{one} {fold(row.title or '')}")
    )


def _stands_in(words: str, text: str) -> bool:
    return f" {words} " in f" {text} "


def _plain(number: str | None) -> str | None:
    """Article numbers are written with and without signs between. None: a placeholder such as "-" or "N/A", which
    many products share."""
    plain = "".join(sign for sign in (number or "").upper() if sign.isalnum())
    return plain if any(sign.isdigit() for sign in plain) else None
