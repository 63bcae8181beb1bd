"""Figures in words: a share of few trials says little, and the words have to say so too. And whom a sentence is for.

Reports go to the customer, who has no settings and no workers. What to do about those is told to whoever runs the
analysis, apart from the rest.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from penstock.extensions.sites.findings import AnswerCell, PromptKind, Share
from penstock.language.sentences import sentences
from penstock.observe.wording import counted

KINDS = {
    PromptKind.TOPIC: "Topics",
    PromptKind.OFFER: "Offers",
    PromptKind.PLACE: "Places",
    PromptKind.COMPARISON: "Comparisons",
    PromptKind.BRAND: "The business by name",
    PromptKind.OWN: "Questions written by a person",
}
NAMED, SOMETIMES, NOT_NAMED, NO_ANSWER, ANSWERED = "●", "◐", "○", "✕", "▪"
LEGEND = (
    f"{NAMED} the business is named in every answer; {SOMETIMES} in some; {NOT_NAMED} in none; "
    f"{NO_ANSWER} no answer; {ANSWERED} answered, names are not counted; – not asked."
)
_OURS = ("PENSTOCK_", "`penstock", "worker", "models file", "Run it again", "run the site again")
_NOTHING_ELSE = "The analysis could not be done for a reason on our side, not on the site's."


def percent(value: float) -> str:
    return f"{value * 100:.0f} %"


def share(given: Share, one: str) -> str:
    """``one``: what was counted, such as question."""
    if given.value is None or given.count == 0:
        return "Not measured: there was nothing to count."
    said = f"{round(given.value * given.count):,} of {counted(given.count, one)} ({percent(given.value)})"
    if given.low is None or given.high is None:
        return f"{said}."
    between = f"between {percent(given.low)} and {percent(given.high)}"
    return f"{said}. With so many tries, the true share lies {between} nineteen times of twenty."


def short_share(given: Share | None) -> str:
    if given is None or given.value is None or given.count == 0:
        return "not measured"
    said = f"{percent(given.value)} ({round(given.value * given.count):,} of {given.count:,})"
    if given.low is None or given.high is None:
        return said
    return f"{said}, likely {percent(given.low)} to {percent(given.high)}"


def verdict(cell: AnswerCell) -> str:
    """Symbol and words: colours alone say nothing to some, nor on paper."""
    answered = cell.samples - cell.failed
    if answered <= 0:
        return f"{NO_ANSWER} no answer"
    some = "" if answered == 1 else f" ({round((cell.named.value or 0) * answered):,} of {answered:,})"
    if cell.named.value is None:
        said = f"{ANSWERED} answered"
    elif cell.named.value >= 1:
        said = f"{NAMED} named{some}"
    elif cell.named.value > 0:
        said = f"{SOMETIMES} sometimes named{some}"
    else:
        said = f"{NOT_NAMED} not named{some}"
    return said + _place(cell.positions) + (f", {cell.failed:,} without answer" if cell.failed else "")


def _place(positions: Sequence[int]) -> str:
    """As which of the names it came."""
    if not positions:
        return ""
    low, high = min(positions), max(positions)
    return f", at place {low}" if low == high else f", at places {low} to {high}"


def money(cost: float) -> str:
    return f"{cost:.4f}".rstrip("0").rstrip(".") or "0"


def day(at: datetime) -> str:
    moment = at.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def for_customer(problem: str) -> str:
    told = " ".join(one for one in sentences(problem) if not _is_ours(one))
    return told or _NOTHING_ELSE


def for_operator(problems: Iterable[str]) -> list[str]:
    """One text per problem that has something for them."""
    found = (" ".join(one for one in sentences(problem) if _is_ours(one)) for problem in problems)
    return [one for one in found if one]


def _is_ours(sentence: str) -> bool:
    return any(sign in sentence for sign in _OURS)
