"""Types that a reconciliation service is asked for: an answer belongs to the question that was asked."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from penstock.errors import InvalidSetting
from penstock.extensions.linking import candidates, matching, saving
from penstock.extensions.linking.project import Project
from tests.extensions.linking_world import OWNER, LinkingWorld, linking_world
from tests.extensions.reconciliation_server import ReconciliationServer, thing
from tests.extensions.wikidata_world import World

THINGS = [
    thing("t1", "Gullhaven", "town"),
    thing("s1", "Gullhaven", "ship"),
    thing("t2", "Larkmoor", "town"),
    thing("s2", "Larkmoor", "ship"),
]
ROWS = [{"name": "Gullhaven"}, {"name": "Larkmoor"}]


@asynccontextmanager
async def reconciling(database_url: str) -> AsyncIterator[tuple[LinkingWorld, ReconciliationServer]]:
    async with (
        ReconciliationServer(THINGS, extends=False) as server,
        linking_world(database_url, World(), linking_reconciliation_url=server.url) as there,
    ):
        yield there, server


async def made(there: LinkingWorld, *types: str, rows: list[dict[str, Any]] = ROWS) -> Project:
    return await there.project(rows, source="reconciliation", options={"types": list(types)})


def asked(server: ReconciliationServer) -> list[tuple[Any, str]]:
    """Types and name of every question so far."""
    return sorted((_types(one.get("type")), one["query"]) for batch in server.batches for one in batch)


def _types(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else given or []


async def found(there: LinkingWorld, project: Project) -> list[list[str]]:
    """The candidates of each record."""
    async with there.app.connection() as connection:
        several = [await candidates.of_record(connection, one.id) for one in await there.records(project.id)]
    return [[one.entity for one in some] for some in several]


async def entities(there: LinkingWorld, project: Project) -> list[str | None]:
    return [one.entity for one in await there.records(project.id)]


async def test_types_that_change_during_a_run_are_asked_for_by_the_next_one(database_url: str) -> None:
    async with reconciling(database_url) as (there, server):
        project = await made(there, "town")
        await there.start(project.id)
        await saving.change(there.linking, project.id, options={"types": ["ship"]})
        await there.drain()
        assert asked(server) == [(["town"], "Gullhaven"), (["town"], "Larkmoor")]
        # Compared with the new types, as with new weights, and so held down; but with what the run has found.
        assert "ERROR" not in await there.counts(project.id)
        assert await found(there, project) == [["t1"], ["t2"]]
        assert (await there.start(project.id, "changed")).records == 2
        await there.drain()
        assert asked(server)[:2] == [(["ship"], "Gullhaven"), (["ship"], "Larkmoor")]
        assert await entities(there, project) == ["s1", "s2"]


async def test_what_others_find_in_the_cache_was_asked_with_their_types(database_url: str) -> None:
    async with reconciling(database_url) as (there, server):
        first = await made(there, "town")
        await there.start(first.id)
        await saving.change(there.linking, first.id, options={"types": ["ship"]})
        await there.drain()
        before = len(server.batches)
        towns, ships = await made(there, "town"), await made(there, "ship")
        await there.match(towns.id)
        assert (await entities(there, towns), len(server.batches)) == (["t1", "t2"], before)
        await there.match(ships.id)
        assert await entities(there, ships) == ["s1", "s2"]


async def test_a_type_with_a_bar_is_not_taken_for_two(database_url: str) -> None:
    async with reconciling(database_url) as (there, server):
        await there.match((await made(there, "ship|town")).id)
        both = await made(there, "town", "ship", "town")
        await there.match(both.id)
        assert asked(server)[:2] == [(["ship", "town"], "Gullhaven"), (["ship", "town"], "Larkmoor")]
        assert await there.counts(both.id) == {"REVIEW": 2}
        before = len(server.batches)
        same = await made(there, "ship", "town")
        await there.match(same.id)
        assert (await there.counts(same.id), len(server.batches)) == ({"REVIEW": 2}, before)


async def test_a_re_rank_says_what_it_leaves_because_it_was_asked_with_other_types(database_url: str) -> None:
    async with reconciling(database_url) as (there, server):
        project = await made(there, "town")
        await there.match(project.id)
        await saving.change(there.linking, project.id, options={"types": ["ship"]})
        done = await matching.rerank(there.linking, project.id, OWNER)
        assert (done.job_id, done.records, done.left) == (None, 0, 2)
        assert done.notice is not None and f"`penstock link match {project.id} --scope all`" in done.notice
        other = await made(there, "ship", rows=ROWS[:1])
        await there.match(other.id)
        before = len(server.batches)
        done = await matching.rerank(there.linking, project.id, OWNER)
        assert (done.records, done.left) == (1, 1)
        await there.drain()
        assert (await entities(there, project), len(server.batches)) == (["s1", "t2"], before)
        await there.match(project.id, "all")
        assert await entities(there, project) == ["s1", "s2"]
        done = await matching.rerank(there.linking, project.id, OWNER)
        assert (done.records, done.left, done.notice) == (2, 0, None)


async def test_a_record_that_names_its_own_type_has_changed_when_other_types_are_asked_for(database_url: str) -> None:
    async with reconciling(database_url) as (there, _):
        project = await made(there, "town", rows=[{"name": "Gullhaven", "type": "town"}])
        await there.match(project.id)
        assert (await there.start(project.id, "changed")).records == 0
        await saving.change(there.linking, project.id, options={"types": ["ship"]})
        assert (await there.start(project.id, "changed")).records == 1


async def test_as_many_and_as_long_types_as_are_allowed_can_be_matched(database_url: str) -> None:
    async with reconciling(database_url) as (there, _):
        project = await made(there, "town", *(secrets.token_hex(100) for _ in range(19)))
        await there.match(project.id)
        assert await entities(there, project) == ["t1", "t2"]


@pytest.mark.parametrize(
    ("types", "says"),
    [
        ([f"{number}" + "x" * 189 for number in range(50)], "at most 20 types"),
        (["town", "x" * 201], "1 to 200 characters"),
        (["town", ""], "1 to 200 characters"),
        (["town\x07"], "1 to 200 characters"),
        ([5], "1 to 200 characters"),
    ],
)
async def test_types_that_are_too_many_or_too_long_are_refused(database_url: str, types: Any, says: str) -> None:
    async with reconciling(database_url) as (there, _):
        project = await made(there)
        with pytest.raises(InvalidSetting, match=says) as raised:
            await made(there, *types)
        assert len(str(raised.value)) < 400
        with pytest.raises(InvalidSetting, match=says):
            await saving.change(there.linking, project.id, options={"types": types})
