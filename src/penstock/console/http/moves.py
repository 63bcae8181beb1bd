"""The moves that an object allows now and that the actor may do. Pages draw their buttons from them.

The lifecycle table says what each state allows. Here stands what the API refuses in every state: a viewer moves
nothing, an action on other items runs once, and an edited item lives on in its copy.
"""

from penstock import lifecycle
from penstock.application import Penstock
from penstock.console.http.actor import Actor, Role
from penstock.core.define import is_internal
from penstock.lifecycle import JobState, State

# Parts of an action are asked to stop like all others.
_OF_ACTIONS = frozenset({"cancel", "pause", "resume", "delete", "reprioritise"})


def of_item(
    actor: Actor, app: Penstock, state: State, *, pipeline: str | None, job_id: int | None, replaced: bool
) -> list[str]:
    """``replaced``: an edited copy runs in its place."""
    if replaced or not _operates(actor):
        return []
    allowed = [name for name in lifecycle.BY_PEOPLE[state] if job_id is None or _repeats(pipeline, name)]
    declared = app.pipelines.get(pipeline or "")
    if declared is not None and declared.internal:
        # Its inputs are made by code.
        return [name for name in allowed if name != "edit"]
    return allowed


def of_job(actor: Actor, state: JobState, *, pipeline: str) -> list[str]:
    if not _operates(actor):
        return []
    return [name for name in lifecycle.OF_JOB[state] if _repeats(pipeline, name)]


def _operates(actor: Actor) -> bool:
    """Of objects of others nobody but admins sees even the state."""
    return actor.role.rank >= Role.operator.rank


def _repeats(pipeline: str | None, name: str) -> bool:
    return name in _OF_ACTIONS or not is_internal(pipeline or "")
