"""What to do when most runs of a stage fail: claim less and try again later, until they work again.

Pure. Endings are judged in batches; each batch counts as if the last ``_WINDOW`` endings were weighed, newest most.
A spike begins above one share of errors and ends below a lower one.
"""

from dataclasses import dataclass, replace

_WINDOW = 100
_BEGINS = 0.5
_ENDS = 0.25
_LEAST_FACTOR = 0.25
_MOST_SPACING = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpike:
    """``factor`` on the claim and ``spacing`` on the delay of a retry; both 1 without a spike."""

    share: float = 0.0
    spiking: bool = False
    factor: float = 1.0
    spacing: float = 1.0
    reason: str = "few errors"

    def after(self, endings: int, errors: int) -> "ErrorSpike":
        """``errors`` of these ``endings`` failed. No endings say nothing."""
        if endings <= 0:
            return self
        kept = (1 - 1 / _WINDOW) ** endings
        share = self.share * kept + (1 - kept) * min(1.0, errors / endings)
        spiking = share > (_ENDS if self.spiking else _BEGINS)
        if not spiking:
            return replace(self, share=share, spiking=False, factor=1.0, spacing=1.0, reason="few errors")
        over = min(1.0, (share - _ENDS) / (1 - _ENDS))
        return replace(
            self,
            share=share,
            spiking=True,
            factor=1 - (1 - _LEAST_FACTOR) * over,
            spacing=1 + (_MOST_SPACING - 1) * over,
            reason=f"{share:.0%} of the last runs failed",
        )
