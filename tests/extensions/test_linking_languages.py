"""Names in several languages: those of the project, and those that single records name."""

import pytest

from penstock.extensions.linking import cache
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.project import codes_of
from penstock.extensions.linking.stages import SEARCH
from tests.extensions.linking_world import linking_world
from tests.extensions.wikidata_world import World, item


def towns() -> World:
    world = World()
    human = {"P31": [item("Q5")]}
    world.add("Q1", {"en": "Vienna Foo", "nl": "Weenen Fuh"}, claims=human)
    world.add("Q2", {"fr": "Jeanne Dupontel"}, claims=human)
    return world


async def test_a_project_in_another_language_fetches_what_is_cached_without_its_labels(database_url: str) -> None:
    async with linking_world(database_url, towns()) as there:
        first = await there.project([{"name": "Vienna Foo"}], options={"languages": ["en"]})
        await there.match(first.id)
        second = await there.project([{"name": "Weenen Fuh"}], options={"languages": ["nl"]})
        await there.match(second.id)
        assert await there.counts(second.id) == {"ACCEPTED": 1}
        assert there.asked() == {"search": 2, "entities": 2}
        # Nobody loses what was fetched for them, and nobody fetches it a third time.
        async with there.app.connection() as connection:
            kept = (await cache.entities(connection, "wikidata", ["Q1"]))["Q1"]
        assert dict(kept.labels) == {"en": "Vienna Foo", "nl": "Weenen Fuh"}
        await there.match(first.id)
        assert await there.counts(first.id) == {"ACCEPTED": 1}
        assert there.asked() == {"search": 2, "entities": 2}


async def test_a_language_that_is_asked_for_while_an_entity_is_fetched_is_fetched_next(database_url: str) -> None:
    async with linking_world(database_url, towns()) as there:
        first = await there.project([{"name": "Vienna Foo"}], options={"languages": ["en"]})
        await there.start(first.id)
        await there.drain(only=[SEARCH])
        async with there.app.connection() as connection:
            await connection.execute("update record_linking.entities set languages = '{en,nl}'")
            brought = {"Q1": Entity(id="Q1", labels={"en": "Vienna Foo"})}
            await cache.keep(connection, "wikidata", brought, languages=["en"])
            assert await connection.fetchval("select fetched_at is null and batch is null from record_linking.entities")
        await there.drain()
        assert await there.counts(first.id) == {"ACCEPTED": 1}


async def test_the_language_of_a_record_is_searched_and_fetched(database_url: str) -> None:
    async with linking_world(database_url, towns()) as there:
        rows = [{"name": "Jeanne Dupontel", "language": "fr"}]
        project = await there.project(rows, options={"languages": ["en"]})
        await there.match(project.id)
        assert await there.counts(project.id) == {"ACCEPTED": 1}


async def test_a_language_that_the_source_does_not_know_leaves_those_of_the_project(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.errors import PermanentError
    from penstock.extensions.linking.sources.wikidata import Wikidata

    search = Wikidata.search

    async def choosy(self: Wikidata, query: str, language: str, **more: object) -> object:
        if language == "qqx":
            raise PermanentError("Unrecognized value for parameter language: qqx.")
        return await search(self, query, language, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Wikidata, "search", choosy)
    async with linking_world(database_url, towns()) as there:
        cells = ["qqx", "EN, de", "pt_BR", "English"]
        rows = [{"name": "Vienna Foo", "language": cell} for cell in cells]
        project = await there.project(rows, options={"languages": ["en"]})
        await there.match(project.id)
        assert await there.counts(project.id) == {"ACCEPTED": 4}
        stubborn = await there.project(rows[:1], options={"languages": ["qqx"]})
        await there.match(stubborn.id)
        assert await there.counts(stubborn.id) == {"ERROR": 1}


@pytest.mark.parametrize(
    ("cell", "codes"),
    [
        ("pt_BR", ("pt-br",)),
        ("en, de", ("en", "de")),
        ("EN;en", ("en",)),
        ("English", ()),
        ("zh-Hans-CN", ("zh-hans-cn",)),
    ],
)
def test_cells_are_read_as_people_write_them(cell: str, codes: tuple[str, ...]) -> None:
    assert codes_of(cell) == codes
