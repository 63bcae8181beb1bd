"""What the API says may be done with an object is what the lifecycle table allows, to those who may do it."""

from typing import Any, get_args

import pytest

from penstock import Penstock
from penstock.console.grids import selection_actions
from penstock.console.http import moves
from penstock.console.http.actor import Actor, Role
from penstock.console.http.routes.jobs import AgainName
from penstock.console.http.wire import ItemMove, JobMove, QueueState, Status
from penstock.lifecycle import JOB_MOVES, MOVES, JobState, State
from tests.console import world as worlds
from tests.console.conftest import Service

OF_PEOPLE = [move for move in MOVES if move.by == "person"]


def actor(role: Role = Role.operator) -> Actor:
    return Actor(name="ann", role=role, ip=None, request_id="1")


def of_item(state: State, pipeline: str = "add", *, role: Role = Role.operator, **more: Any) -> list[str]:
    given: dict[str, Any] = {"pipeline": pipeline, "job_id": 1, "replaced": False, **more}
    return moves.of_item(actor(role), Penstock("shop"), state, **given)


def allowed(state: State) -> set[str]:
    return {move.name for move in OF_PEOPLE if state in move.origins}


def test_the_types_for_clients_name_every_state_and_every_move_of_people() -> None:
    assert get_args(get_args(Status)[0]) == tuple(State.__members__)
    assert get_args(get_args(QueueState)[0]) == tuple(JobState.__members__)
    assert set(get_args(ItemMove)) == {move.name for move in OF_PEOPLE}
    assert set(get_args(JobMove)) == {move.name for move in JOB_MOVES}
    assert {State[name] for name in get_args(AgainName)} == set(selection_actions.TAKES["reprocess"])


@pytest.mark.parametrize("state", State)
def test_every_move_of_people_is_offered_exactly_in_the_states_of_the_table(state: State) -> None:
    assert set(of_item(state)) == allowed(state)
    assert set(of_item(state, role=Role.admin)) == allowed(state)
    assert of_item(state, role=Role.viewer) == []


@pytest.mark.parametrize("state", JobState)
def test_every_move_of_a_job_is_offered_exactly_in_the_states_of_the_table(state: JobState) -> None:
    expected = {move.name for move in JOB_MOVES if state in move.origins}
    assert set(moves.of_job(actor(), state, pipeline="add")) == expected
    assert set(moves.of_job(actor(), state, pipeline="penstock.selection")) == expected - {"reprocess"}
    assert moves.of_job(actor(Role.viewer), state, pipeline="add") == []


@pytest.mark.parametrize("state", State)
def test_parts_of_an_action_are_only_cancelled_and_edited_items_stay_as_they_are(state: State) -> None:
    assert set(of_item(state, "penstock.selection")) == allowed(state) & {"cancel"}
    assert of_item(state, replaced=True) == []


async def test_items_tell_their_moves_in_every_state_alone_and_in_lists(service: Service) -> None:
    world = await worlds.make(service)
    ann = await service.client("ann")
    listed = (await ann.get(f"/api/jobs/{world.job_id}/items")).json()["items"]
    listed += (await ann.get(f"/api/jobs/{await world.job()}/items")).json()["items"]
    assert {item["status"] for item in listed} >= {"PENDING", "DONE", "ERROR"}
    alone = [(await ann.get(f"/api/tasks/{item_id}")).json() for item_id in world.items.values()]
    assert len(alone) > 4
    for item in [*listed, *alone]:
        assert set(item["moves"]) == allowed(State[item["status"]]), item


async def test_what_moves_says_is_what_the_routes_do(service: Service) -> None:
    world = await worlds.make(service)
    ann, item_id = await service.client("ann"), world.items["ERROR"]
    assert "edit" in (await ann.get(f"/api/tasks/{item_id}")).json()["moves"]
    edit = {"input": {"row": 2, "cells": ["lamp"]}}
    assert (await ann.patch(f"/api/dead-letters/{item_id}", json=edit)).status_code == 200
    assert (await ann.get(f"/api/tasks/{item_id}")).json()["moves"] == []
    assert (await ann.patch(f"/api/dead-letters/{item_id}", json=edit)).status_code == 409

    job = f"/api/jobs/{await world.job()}"
    for move, state in (("pause", "PAUSED"), ("resume", "QUEUED"), ("cancel", "CANCELLED")):
        assert move in (await ann.get(job)).json()["moves"]
        assert (await ann.post(f"{job}/{move}")).json()["queueState"] == state
    assert (await ann.get(job)).json()["moves"] == ["delete", "reprocess"]
    assert (await ann.post(f"{job}/pause")).status_code == 409
    (first, *_) = (await ann.get("/api/jobs")).json()["items"]
    assert first["moves"] == ["delete", "reprocess"]


async def test_a_viewer_is_offered_nothing_of_their_own(service: Service) -> None:
    world = await worlds.make(service, owner="eve")
    eve = await service.client("eve")
    for item_id in world.items.values():
        assert (await eve.get(f"/api/tasks/{item_id}")).json()["moves"] == []
    assert (await eve.get(f"/api/jobs/{world.job_id}")).json()["moves"] == []
