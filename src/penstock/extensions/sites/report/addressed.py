"""Whom a sentence is for.

Reports go to the customer, who has no settings and no workers. What to do about those is told to whoever runs the
analysis, apart from the rest.
"""

from collections.abc import Iterable

from penstock.language.sentences import sentences

_OURS = ("PENSTOCK_", "`penstock", "worker", "models file", "Run it again", "run the site again")
_NOTHING_ELSE = "The analysis could not be done for a reason on our side, not on the site's."


def for_customer(problem: str) -> str:
    told = " ".join(one for one in sentences(problem) if not _is_ours(one))
    return told or _NOTHING_ELSE


def for_operator(problems: Iterable[str]) -> list[str]:
    """One text per problem that has something for them."""
    found = (" ".join(one for one in sentences(problem) if _is_ours(one)) for problem in problems)
    return [one for one in found if one]


def _is_ours(sentence: str) -> bool:
    return any(sign in sentence for sign in _OURS)
