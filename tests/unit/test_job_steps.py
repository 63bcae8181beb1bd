"""How far a job is, from what its stages hold."""

from typing import Any

import pytest

from penstock.insight.job_steps import Steps, steps_of
from penstock.lifecycle import JobState


def stage(
    name: str, *, present: int = 0, running: int = 0, well: int = 0, error: int = 0, cancelled: int = 0
) -> dict[str, Any]:
    return {
        "name": name,
        "present": present,
        "running": running,
        "well": well,
        "error": error,
        "cancelled": cancelled,
    }


def seen(found: Steps) -> list[tuple[int, int, int, int, int]]:
    return [(one.waiting, one.running, one.done, one.failed, one.cancelled) for one in found.steps]


def test_a_job_that_waits_at_its_first_stage_has_not_started() -> None:
    found = steps_of(JobState.QUEUED, [stage("read", present=4), stage("form"), stage("ask")])
    assert (found.current, found.progress) == ("not-started", 0.0)
    assert seen(found) == [(4, 0, 0, 0, 0), (0, 0, 0, 0, 0), (0, 0, 0, 0, 0)]


def test_a_task_that_waits_at_a_later_stage_has_started() -> None:
    found = steps_of(JobState.QUEUED, [stage("read"), stage("form", present=1), stage("ask")])
    assert found.current == "form"
    assert found.progress == pytest.approx(1 / 3)
    assert seen(found)[0] == (0, 0, 1, 0, 0)


def test_whoever_is_behind_a_stage_has_passed_it() -> None:
    found = steps_of(
        JobState.RUNNING,
        [stage("read", present=2, running=1, error=1), stage("form", present=3, well=1), stage("ask", well=5)],
    )
    assert found.current == "read"
    assert seen(found) == [(1, 1, 9, 1, 0), (3, 0, 6, 0, 0), (0, 0, 5, 0, 0)]
    assert found.progress == pytest.approx(1 - (2 * 3 + 3 * 2) / (12 * 3))


@pytest.mark.parametrize(
    ("state", "word"), [(JobState.DONE, "completed"), (JobState.FAILED, "failed"), (JobState.CANCELLED, "cancelled")]
)
def test_an_ended_job_says_how(state: JobState, word: str) -> None:
    found = steps_of(state, [stage("read", error=1), stage("form", well=1)])
    assert (found.current, found.progress) == (word, 1.0)


def test_what_waits_in_a_cancelled_job_is_as_good_as_cancelled() -> None:
    found = steps_of(JobState.CANCELLED, [stage("read", present=3, running=1), stage("form", cancelled=1)])
    assert seen(found) == [(0, 1, 1, 0, 2), (0, 0, 0, 0, 1)]


def test_an_empty_job_has_not_started() -> None:
    found = steps_of(JobState.QUEUED, [stage("read")])
    assert (found.current, found.progress) == ("not-started", 0.0)


def test_progress_stays_between_nothing_and_all_while_the_counters_of_a_deleted_job_go_before_its_rows() -> None:
    found = steps_of(JobState.RUNNING, [stage("read", present=2, running=3)])
    assert found.progress == 0.0
    assert seen(found) == [(0, 3, 0, 0, 0)]
