"""What follows from a ranking: accept by itself, show it to a person, or give up."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.extensions.linking.scoring.score import Scored
from penstock.extensions.linking.states import RecordState

# Below this the best candidate shares a word or two with the record; a person would only be kept busy by it.
LEAST_WORTH_A_LOOK = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``gap``: from the best to the second; to 0 where there is no second. None without a candidate."""

    state: RecordState
    best: Scored | None
    gap: float | None
    said: str

    @property
    def match(self) -> Scored | None:
        """What the record is accepted as, or shown with."""
        return None if self.state is RecordState.NO_CANDIDATE else self.best


def verdict(ranked: Sequence[Scored], accept_score: float, accept_gap: float) -> Verdict:
    """``ranked``: best first, as ``rank`` has them."""
    if not ranked:
        return Verdict(
            state=RecordState.NO_CANDIDATE, best=None, gap=None, said="the source knows nothing of that name"
        )
    best = ranked[0]
    gap = round(best.score - (ranked[1].score if len(ranked) > 1 else 0.0), 6)
    state, said = _decided(best.score, gap, ranked, accept_score, accept_gap)
    return Verdict(state=state, best=best, gap=gap, said=said)


def _decided(
    score: float, gap: float, ranked: Sequence[Scored], accept_score: float, accept_gap: float
) -> tuple[RecordState, str]:
    if score < LEAST_WORTH_A_LOOK:
        return RecordState.NO_CANDIDATE, f"the best of {len(ranked)} reaches {score:.2f}, which is not worth a look"
    if score < accept_score:
        return RecordState.REVIEW, f"{score:.2f} is below {accept_score:g}"
    if gap < accept_gap:
        return RecordState.REVIEW, f"{ranked[1].label} is only {gap:.2f} behind, less than {accept_gap:g}"
    return RecordState.ACCEPTED, f"{score:.2f}, and the next is {gap:.2f} behind"
