"""The table of moves is the only source of what may happen to a task."""

from pathlib import Path

import pytest

from penstock import lifecycle
from penstock.errors import IllegalMove
from penstock.lifecycle import FINISHED, JOB_MOVES, MOVES, JobState, State

ROOT = Path(__file__).parents[2]


def diagram() -> str:
    """The life cycle as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> PENDING: enqueue"]
    drawn: dict[tuple[State, State], list[str]] = {}
    for one in MOVES:
        for origin in one.origins:
            for target in one.targets:
                drawn.setdefault((origin, target), []).append(one.name)
    for (origin, target), names in sorted(drawn.items()):
        lines.append(f"    {origin.name} --> {target.name}: {', '.join(names)}")
    lines += [f"    {state.name} --> [*]" for state in FINISHED]
    return "\n".join(lines) + "\n"


def test_the_diagram_in_the_docs_is_drawn_from_the_table():
    assert diagram() in (ROOT / "docs/lifecycle.md").read_text(), "run: python -m tests.unit.test_lifecycle"


def test_every_move_is_described_in_the_docs():
    text = (ROOT / "docs/lifecycle.md").read_text()
    for move in MOVES:
        assert f"| {move.name} |" in text


def test_a_finished_task_moves_only_by_a_person():
    for move in MOVES:
        if set(move.origins) & set(FINISHED):
            assert move.by == "person", move


def test_every_state_can_be_reached_and_every_unfinished_state_can_be_left():
    targets = {target for move in MOVES for target in move.targets} | {State.PENDING}
    origins = {origin for move in MOVES for origin in move.origins}
    assert targets == set(State)
    assert {State.PENDING, State.PROCESSING} <= origins


def test_only_runs_that_failed_burn_an_attempt():
    assert {move.name for move in MOVES if move.burns} == {"retry", "crash"}


def test_an_illegal_move_names_the_state_and_what_would_have_allowed_it():
    with pytest.raises(
        IllegalMove, match="Cannot cancel task 7: it is DONE, and cancel is possible only from PENDING, PR"
    ):
        lifecycle.require("cancel", State.DONE, "task 7")
    lifecycle.require("cancel", State.PENDING, "task 7")


def test_every_refusal_says_what_to_do_next():
    for move in MOVES:
        for state in set(State) - set(move.origins):
            with pytest.raises(IllegalMove) as caught:
                lifecycle.require(move.name, state, "task 7")
            assert str(caught.value).endswith(f". {move.instead}")
            assert move.instead.endswith(".")
    for decision in JOB_MOVES:
        for of_job in set(JobState) - set(decision.origins):
            with pytest.raises(
                IllegalMove, match=f"Cannot {decision.name} job 3: it is {of_job.name}.*{decision.instead}"
            ):
                lifecycle.require_of_job(decision.name, of_job, "job 3")


def test_every_move_of_a_job_is_described_in_the_docs_with_its_states():
    text = (ROOT / "docs/lifecycle.md").read_text()
    for decision in JOB_MOVES:
        assert f"| {decision.name} | {', '.join(state.name for state in decision.origins)} |" in text


def test_the_numbers_in_the_tables_never_change_their_meaning():
    assert [state.name for state in State] == [
        "PENDING",
        "PROCESSING",
        "DONE",
        "ERROR",
        "NOT_FOUND",
        "SKIPPED",
        "CANCELLED",
    ]
    assert [int(state) for state in State] == list(range(7))


if __name__ == "__main__":  # writes the diagram and the table into the docs
    page = ROOT / "docs/lifecycle.md"
    before, _, rest = page.read_text().partition("```mermaid\n")
    after = rest.partition("```\n")[2]
    page.write_text(f"{before}```mermaid\n{diagram()}```\n{after}")
