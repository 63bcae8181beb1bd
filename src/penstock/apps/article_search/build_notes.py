"""What the note of a generation says about articles that could not be embedded: how many, why, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.apps.article_search.trouble import Category, category_of_stored

_LONGEST_CAUSE = 500
_NEXT_STEPS = {
    Category.TRANSIENT: "When the embedder answers again: `penstock articles retry-failed --category transient`.",
    Category.CONFIGURATION: "Change what the error names, then "
    "`penstock articles retry-failed --category configuration`.",
    Category.DATA: "The texts are refused: drop it and build one of another embedder, or with shorter chunks.",
    Category.RESOURCE: "Free memory, disk or quota, then `penstock articles retry-failed --category resource`.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The newest one of a generation. ``error``: as the engine keeps it; ``age_seconds``: since then."""

    error: Mapping[str, Any]
    age_seconds: float

    @property
    def cause(self) -> str:
        """With its category, and a full stop."""
        message = str(self.error.get("message") or "no message was kept").strip()[:_LONGEST_CAUSE]
        stop = "" if message.endswith((".", "!", "?")) else "."
        return f"{category_of_stored(self.error).value}: {message}{stop}"

    @property
    def next_step(self) -> str:
        return _NEXT_STEPS[category_of_stored(self.error)]


def none_embedded(count: int, failure: Failure) -> str:
    which = "The only article" if count == 1 else f"None of {count:,} articles"
    not_so = "could not" if count == 1 else "could"
    return f"{which} {not_so} be embedded ({failure.cause}) {failure.next_step}"


def some_left_out(generation_id: int, count: int, failure: Failure | None) -> str:
    """It is ready all the same: what is missing is found by its words."""
    why = "" if failure is None else f" (the last: {failure.cause})"
    return (
        f"{count:,} article{' is' if count == 1 else 's are'} not in it, because their embedding failed{why}: "
        f"`penstock articles reindex --generation {generation_id} --scope failed`."
    )


def needs_a_person(note: str | None) -> bool:
    """Of a generation that is being built: whoever waits for it may as well stop, because it does not go on alone."""
    return note is not None and (" be embedded (" in note or " was cancelled. " in note)
