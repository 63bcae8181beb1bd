"""What the statistics of the last hour say about a stage, as shares and as samples of gauges."""

from collections.abc import Iterator, Mapping
from typing import Any


def share(moved: Mapping[str, Any], part: str) -> float | None:
    """Of what left the stage in the last hour. None: nothing did. A replay takes counts back that may be older than the
    hour, so a part need not fit into the whole."""
    whole: int = moved.get("left_last_hour", 0)
    return min(max(moved[part], 0) / whole, 1.0) if whole > 0 else None


def measured(label: str, moved: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """(gauge, labels, value) for one row of ``reads.stage_rates``; what was not measured is left out."""
    for window, mean in (("hour", "mean_run_seconds"), ("minute", "mean_run_seconds_last_minute")):
        if (seconds := moved.get(mean)) is not None:
            yield "penstock_stage_run_seconds_mean", (label, window), seconds
    for gauge, part in (("success", "went_well_last_hour"), ("failure", "failed_last_hour")):
        if (ratio := share(moved, part)) is not None:
            yield f"penstock_stage_{gauge}_ratio", (label,), ratio
    yield "penstock_stage_retries_last_hour", (label,), moved.get("retries_last_hour", 0)
