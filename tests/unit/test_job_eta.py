"""What holds a job up, from the first in line of each of its stages."""

from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.insight.waiting import Cause, cause_of_job
from penstock.lifecycle import JobState

NOW = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)


def head(stage: int, **told: Any) -> dict[str, Any]:
    return {
        "stage": stage,
        "pipeline": "orders",
        "name": f"stage{stage}",
        "max_running": None,
        "paused_at": None,
        "run_at": NOW,
        "attempt": 0,
        "max_attempts": 3,
        "cause": None,
        "limit_key": None,
        **told,
    }


def cause(*heads: dict[str, Any]) -> Cause | None:
    live = [{"stages": [1, 2], "status": {}}]
    return cause_of_job({}, JobState.RUNNING, importing=False, heads=heads, live=live, running={1: 1}, now=NOW)


LATER = {"run_at": NOW + timedelta(minutes=9), "attempt": 1}


def test_where_everything_is_due_later_nothing_gets_past_it() -> None:
    met = cause(head(1, **LATER))
    assert met is not None
    assert (met.sentence, met.stops) == ("try 2 of 3 in 9 min", True)
    unfound = cause(head(1, **LATER, cause="not_found"))
    assert unfound is not None
    assert unfound.sentence == "retrying unmatched rows in 9 min (attempt 2)"


def test_what_is_due_later_does_not_hold_up_a_stage_that_has_something_to_do() -> None:
    assert cause(head(1), head(2, **LATER)) is None
    met = cause(head(1, max_running=1), head(2, **LATER))
    assert met is not None
    assert (met.sentence, met.stops) == ("limited to 1 at a time in stage orders/stage1", False)
