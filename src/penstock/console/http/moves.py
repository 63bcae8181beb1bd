"""The moves that an object allows now and that the actor may do. Pages draw their buttons from them.

The lifecycle table says what each state allows. Here stands what the API refuses in every state: a viewer moves
nothing, an action on other items runs once, and an edited item lives on in its copy.
"""

from collections.abc import Sequence
from functools import cache

from penstock import lifecycle
from penstock.application import Penstock
from penstock.console.http.actor import Actor, Role
from penstock.core.define import is_internal
from penstock.lifecycle import JobState, State

# Parts of an action are asked to stop like all others.
_OF_ACTIONS = frozenset({"cancel", "pause", "resume", "delete", "reprioritise"})


def of_item(
    actor: Actor, app: Penstock, state: State, *, pipeline: str | None, job_id: int | None, replaced: bool
) -> Sequence[str]:
    """``replaced``: an edited copy runs in its place."""
    if replaced or not _operates(actor):
        return []
    declared = app.pipelines.get(pipeline or "")
    # The inputs of an internal one are made by code.
    editable = declared is None or not declared.internal
    return _of_state(state, editable=editable, repeats=job_id is None or not is_internal(pipeline or ""))


@cache
def _of_state(state: State, *, editable: bool, repeats: bool) -> tuple[str, ...]:
    allowed = [name for name in lifecycle.BY_PEOPLE[state] if repeats or name in _OF_ACTIONS]
    return tuple(name for name in allowed if editable or name != "edit")


def of_job(actor: Actor, state: JobState, *, pipeline: str) -> list[str]:
    if not _operates(actor):
        return []
    return [name for name in lifecycle.OF_JOB[state] if _repeats(pipeline, name)]


def _operates(actor: Actor) -> bool:
    """Of objects of others nobody but admins sees even the state."""
    return actor.role.rank >= Role.operator.rank


def _repeats(pipeline: str | None, name: str) -> bool:
    return name in _OF_ACTIONS or not is_internal(pipeline or "")
