"""The schedule of the loops with a fixed interval, by a clock that the test moves."""

from penstock.config import Settings
from penstock.events import Events
from penstock.failpoints import Failpoints
from penstock.upkeep.duties import all_duties
from penstock.workers.beat import Beat


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def times(every_seconds: float, work_seconds: list[float], *, at_once: bool = False) -> list[float]:
    """When a loop begins its rounds, seen from the start, if its rounds take these times."""
    clock = Clock()
    beat = Beat(every_seconds, at_once=at_once, clock=clock)
    begun = []
    for took in work_seconds:
        clock.now += beat.pause_seconds()
        begun.append(round(clock.now - 1000.0, 6))
        clock.now += took
    return begun


def test_the_paced_profile_is_the_one_that_is_documented() -> None:
    paced = Settings(profile="paced")
    assert (paced.discovery_seconds, paced.coordination_seconds, paced.health_seconds) == (60, 5, 30)
    assert (paced.cleanup_seconds, paced.minimum_age_seconds, paced.timeout_seconds) == (300, 30, 300)
    assert (paced.assignments_per_cycle, paced.paced_batch, paced.max_attempts_error) == (3, 10, 3)


def test_ten_minutes_of_the_paced_profile_have_their_numbers_of_cycles() -> None:
    paced = Settings(profile="paced")
    assert times(paced.discovery_seconds, [0.3] * 10) == [60.0 * n for n in range(1, 11)]
    assert times(paced.coordination_seconds, [0.001] * 120) == [5.0 * n for n in range(1, 121)]
    assert times(paced.health_seconds, [0.1] * 20) == [30.0 * n for n in range(1, 21)]


def test_clean_up_duties_follow_the_profile_and_what_must_be_quick_does_not() -> None:
    paced, event = (
        {duty.name: duty.every_seconds for duty in all_duties(Settings(profile=name), Events(), Failpoints())}
        for name in ("paced", "event")
    )
    changed = {name: seconds for name, seconds in paced.items() if event[name] != seconds}
    assert changed == {"deactivate lanes": 300, "retention": 300}
    assert paced["rescue"] == 1.0


def test_work_inside_a_round_does_not_make_the_interval_longer() -> None:
    assert times(5, [0, 1, 4.9, 0]) == [5, 10, 15, 20]


def test_a_late_loop_leaves_beats_out_instead_of_running_twice() -> None:
    assert times(5, [12, 0, 0]) == [5, 20, 25]
    assert times(5, [5, 0]) == [5, 10]


def test_a_loop_may_begin_at_once() -> None:
    assert times(5, [0, 0], at_once=True) == [0, 5]
