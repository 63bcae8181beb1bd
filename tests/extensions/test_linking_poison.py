"""Entities that break what is done with them: they take no others along, and the run ends."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from penstock.extensions.linking import cache
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.sources.source_client import storable_json
from tests.extensions.linking_world import linking_world
from tests.extensions.wikidata_world import HUMAN, World, item

NAMES = ("Ada Quillfeather", "Bruno Ashdown", "Cleo Marrow", "Dora Finch", "Elva Saltmere")
POISON = "Q3"


def people() -> World:
    world = World()
    for number, name in enumerate(NAMES, start=1):
        world.add(f"Q{number}", {"en": name}, claims={"P31": [item(HUMAN)]})
    return world


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (r'{"a\u0000b": "c\u0000\u0000d"}', {"ab": "cd"}),
        (r'"lone \ud83d half"', "lone  half"),
        (r'"\udc00\ud83d\ude00\ud83d"', "😀"),
        (r'"\uD83D\uDE00 \\u0000 \\\u0000"', "😀 \\u0000 \\"),
        (r'"\\ud83d \u00e4"', "\\ud83d ä"),
    ],
)
def test_what_cannot_be_stored_is_left_out_of_an_answer_and_nothing_else(text: str, kept: Any) -> None:
    assert storable_json(text.encode()) == kept


async def test_ids_and_names_of_fields_with_nul_are_stored_without_it(database_url: str) -> None:
    world = people()
    claims = world.entities[POISON]["claims"]
    statement = json.loads(json.dumps(claims["P31"][0]))
    statement["mainsnak"]["datavalue"]["value"]["id"] = "Q\0"
    claims["P27"], claims["P\0"] = [statement], [statement]
    async with linking_world(database_url, world) as there:
        project = await there.project([{"name": name, "type": HUMAN} for name in NAMES])
        await there.match(project.id)
        assert await there.counts(project.id) == {"ACCEPTED": 5}
        assert there.asked() == {"search": 5, "entities": 1}


async def test_an_entity_that_cannot_be_stored_costs_no_request_and_none_of_the_others(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = cache.keep

    async def keep_spoilt(connection: Any, source: str, found: Mapping[str, Entity | None], **more: Any) -> None:
        """The server refuses it, as it would what nobody thought of."""
        if POISON in found:
            await connection.fetchval("select $1::text::jsonb", '"\\u0000"')
        await keep(connection, source, found, **more)

    monkeypatch.setattr(cache, "keep", keep_spoilt)
    async with linking_world(database_url, people()) as there:
        project = await there.project([{"name": name, "type": HUMAN} for name in NAMES])
        await there.match(project.id)
        assert await there.counts(project.id) == {"ACCEPTED": 4, "ERROR": 1}
        assert there.asked() == {"search": 5, "entities": 1}
        (told,) = [one.error for one in await there.records(project.id) if one.error]
        assert told is not None and "about Q3 cannot be stored" in told
        assert (await there.read(project.id)).ended_at is not None  # type: ignore[union-attr]
        monkeypatch.undo()
        await there.match(project.id, "failed")
        assert await there.counts(project.id) == {"ACCEPTED": 5}


async def test_a_fetch_that_dies_is_divided_until_the_one_that_kills_it_is_alone(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, sizes = cache.keep, []

    async def keep_dying(connection: Any, source: str, found: Mapping[str, Entity | None], **more: Any) -> None:
        if POISON in found:
            sizes.append(len(found))
            raise RuntimeError("nobody foresaw this")
        await keep(connection, source, found, **more)

    monkeypatch.setattr(cache, "keep", keep_dying)
    async with linking_world(database_url, people()) as there:
        project = await there.project([{"name": name, "type": HUMAN} for name in NAMES])
        await there.match(project.id)
        assert await there.counts(project.id) == {"ACCEPTED": 4, "ERROR": 1}
        assert list(dict.fromkeys(sizes)) == [5, 3, 1]
        (told,) = [one.error for one in await there.records(project.id) if one.error]
        assert told is not None and told.startswith("Q3 could not be fetched; `penstock tasks show ")
        assert (await there.read(project.id)).ended_at is not None  # type: ignore[union-attr]
        assert await there.value("select count(*) from record_linking.entities where fetched_at is null") == 0
