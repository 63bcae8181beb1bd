"""A reconciliation service over real HTTP on loopback."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.extensions.linking.entity import ItemValue, NumberValue
from penstock.extensions.linking.shared import Sources
from penstock.extensions.linking.sources.reconciliation import Reconciliation
from penstock.extensions.linking.sources.source import Found, SourceMisconfigured
from tests.extensions.quick_http import Reply
from tests.extensions.reconciliation_server import ReconciliationServer, thing
from tests.extensions.test_linking_sources import AGENT, Counting

THINGS = [
    thing("b1", "Gullhaven", "town", population=[{"int": 812}]),
    thing("b2", "Gullhaven Belle", "ship", home=[{"id": "b1", "name": "Gullhaven"}]),
    thing("b3", "Larkmoor", "town"),
]


class Gated(Counting):
    """Gives no permit before it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.asked = asyncio.Event()

    async def acquire(self, weight: int = 1) -> None:
        self.asked.set()
        await self.open.wait()
        await super().acquire(weight)


def settings(url: str | None, **more: Any) -> Any:
    given = {"linking_reconciliation_url": url, "linking_user_agent": AGENT} | more
    return load(database_url="postgresql://nobody@127.0.0.1:9/none", **given)


@pytest.fixture
async def server() -> AsyncIterator[ReconciliationServer]:
    async with ReconciliationServer(THINGS) as made:
        yield made


@pytest.fixture
async def source(server: ReconciliationServer) -> AsyncIterator[Reconciliation]:
    made = Reconciliation(settings(server.url))
    yield made
    await made.close()


@pytest.fixture
def budget() -> Counting:
    return Counting()


async def test_candidates_come_with_scores_types_features_and_values(
    source: Reconciliation, server: ReconciliationServer, budget: Counting
):
    found = await source.search(" Gullhaven ", "en", limit=5, limiter=budget)
    assert found.ids == ("b1", "b2")
    town, ship = found.entities
    assert (dict(town.labels), dict(town.descriptions)) == ({"en": "Gullhaven"}, {"en": "a town"})
    assert (town.types, town.given_score, ship.given_score) == (("town",), 1.0, 0.5)
    assert town.claims["population"] == (NumberValue(amount=812.0),)
    assert ship.claims["home"] == (ItemValue(id="b1", label="Gullhaven"),)
    assert town.claims["feature:match"] == (NumberValue(amount=1.0),)
    assert "feature:match" not in ship.claims
    assert ship.claims["feature:name"] == (NumberValue(amount=0.5),)
    assert budget.permits == len(server.requests) == 5  # manifest, question, properties of two types, values


async def test_manifest_and_properties_are_asked_for_once(
    source: Reconciliation, server: ReconciliationServer, budget: Counting
):
    await source.search("Gullhaven", "en", limiter=budget)
    await source.search("Larkmoor", "de", limiter=budget)
    assert len(server.requests) == 7
    assert server.requests[-1].headers["accept-language"] == "de"
    assert budget.permits == 7


async def test_a_service_without_data_extension_gives_names_and_types(budget: Counting):
    async with ReconciliationServer(THINGS, extends=False, most=1.0) as server:
        source = Reconciliation(settings(server.url))
        found = await source.search("gullhaven", "en", limiter=budget)
        await source.close()
    assert [one.given_score for one in found.entities] == [1.0, 0.5]
    assert len(server.requests) == 2
    assert server.extensions == []


async def test_types_and_limit_go_along(source: Reconciliation, server: ReconciliationServer, budget: Counting):
    assert (await source.search("gullhaven", "en", types=["ship"], limit=3, limiter=budget)).ids == ("b2",)
    assert (await source.search("gullhaven", "en", types=["ship", "town"], limiter=budget)).ids == ("b1", "b2")
    asked = [one for batch in server.batches for one in batch]
    assert asked[0] == {"query": "gullhaven", "limit": 3, "type": "ship", "type_strict": "any"}
    assert asked[1]["type"] == ["ship", "town"]


async def test_an_empty_name_is_not_asked(source: Reconciliation, server: ReconciliationServer, budget: Counting):
    assert await source.search(" ", "en", limiter=budget) == Found()
    assert server.requests == []


async def test_questions_that_wait_for_a_permit_go_out_together(budget: Counting):
    async with ReconciliationServer(THINGS, extends=False, batch_size=4) as server:
        source = Reconciliation(settings(server.url, linking_concurrency=2))
        await source.search("Larkmoor", "en", limiter=budget)
        gate = Gated()
        names = [f"Gullhaven {n}" for n in range(9)] + ["Larkmoor"]
        asked = [asyncio.create_task(source.search(name, "en", limiter=gate)) for name in names]
        asked.append(asyncio.create_task(source.search("Larkmoor", "de", limiter=gate)))
        await gate.asked.wait()
        gate.open.set()
        found = await asyncio.gather(*asked)
        await source.close()
    assert [one.ids for one in found] == [()] * 9 + [("b3",), ("b3",)]
    assert sorted(len(batch) for batch in server.batches[1:]) == [1, 2, 4, 4]
    assert gate.permits == 4


async def test_one_question_that_is_refused_does_not_lose_the_others(budget: Counting):
    async with ReconciliationServer(THINGS, extends=False) as server:
        server.refuses = "forbidden"
        source = Reconciliation(settings(server.url))
        await source.search("Larkmoor", "en", limiter=budget)
        gate = Gated()
        names = ["Larkmoor", "forbidden", "Gullhaven", "Larkmoor"]
        asked = [asyncio.create_task(source.search(name, "en", limiter=gate)) for name in names]
        await gate.asked.wait()
        gate.open.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        await source.close()
    assert [one.ids for one in found if isinstance(one, Found)] == [("b3",), ("b1", "b2"), ("b3",)]
    assert isinstance(found[1], PermanentError)
    assert "That cannot be asked." in str(found[1])


async def test_who_gives_up_while_others_wait_takes_nobody_along(budget: Counting):
    async with ReconciliationServer(THINGS, extends=False) as server:
        source = Reconciliation(settings(server.url, linking_concurrency=1))
        await source.search("Larkmoor", "en", limiter=budget)
        gate = Gated()
        asked = [asyncio.create_task(source.search(name, "en", limiter=gate)) for name in ("Gullhaven", "Larkmoor")]
        await gate.asked.wait()
        asked[0].cancel()
        gate.open.set()
        assert (await asyncio.wait_for(asked[1], 60)).ids == ("b3",)
        assert (await source.search("Larkmoor", "en", limiter=budget)).ids == ("b3",)
        await source.close()
    with pytest.raises(asyncio.CancelledError):
        await asked[0]
    assert [len(batch) for batch in server.batches] == [1, 1, 1]


async def test_who_is_stopped_while_it_asks_for_others_tells_them_to_try_again(budget: Counting):
    async with ReconciliationServer(THINGS, extends=False) as server:
        source = Reconciliation(settings(server.url))
        await source.search("Larkmoor", "en", limiter=budget)
        gate = Gated()
        asked = [asyncio.create_task(source.search(name, "en", limiter=gate)) for name in ("Gullhaven", "Larkmoor")]
        await gate.asked.wait()
        server.answers.append(Reply(body=b"", never=True))
        before = len(server.requests)
        gate.open.set()
        async with asyncio.timeout(60):
            while len(server.requests) == before:
                await asyncio.sleep(0.01)
        asked[0].cancel()
        with pytest.raises(TransientError, match="broken off"):
            await asyncio.wait_for(asked[1], 60)
        await source.close()
    with pytest.raises(asyncio.CancelledError):
        await asked[0]


async def test_a_thing_is_fetched_by_its_id_with_the_properties_that_are_wanted(
    source: Reconciliation, server: ReconciliationServer, budget: Counting
):
    found = await source.entities(["b1", "b9"], properties=["population"], languages=["de"], limiter=budget)
    assert found["b9"] is None
    assert found["b1"] is not None
    assert found["b1"].claims["population"] == (NumberValue(amount=812.0),)
    assert (dict(found["b1"].labels), found["b1"].given_score) == ({"de": "Gullhaven"}, None)
    assert server.extensions == [{"ids": ["b1"], "properties": [{"id": "population"}]}]


async def test_a_service_that_asks_to_wait_is_waited_for(
    source: Reconciliation, server: ReconciliationServer, budget: Counting
):
    await source.search("Larkmoor", "en", limiter=budget)
    server.answers.append(Reply(status=429, body=b"", headers={"Retry-After": "9"}))
    with pytest.raises(ThrottledError) as raised:
        await source.search("Gullhaven", "en", limiter=budget)
    assert (raised.value.retry_after, raised.value.key) == (9.0, "linking:reconciliation")


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (Reply(body=b'{"hello": 1}'), SourceMisconfigured, "no manifest"),
        (Reply(body=b"<html>"), TransientError, "a web page in the place of JSON"),
        (Reply(status=502, body=b""), TransientError, "answered 502"),
        (Reply(status=302, body=b"", headers={"Location": "https://example.org/r"}), SourceMisconfigured, "final"),
    ],
)
async def test_an_address_that_is_no_service_is_named_and_asked_again_next_time(
    source: Reconciliation, server: ReconciliationServer, budget: Counting, reply: Reply, kind: Any, says: str
):
    server.answers.append(reply)
    with pytest.raises(kind, match=says):
        await source.search("Larkmoor", "en", limiter=budget)
    assert (await source.search("Larkmoor", "en", limiter=budget)).ids == ("b3",)


async def test_an_answer_to_other_questions_is_not_taken_for_no_candidates(
    source: Reconciliation, server: ReconciliationServer, budget: Counting
):
    await source.search("Larkmoor", "en", limiter=budget)
    server.answers.append(Reply(body=b'{"x": {"result": []}}'))
    with pytest.raises(TransientError, match="no 'q0' in it"):
        await source.search("Larkmoor", "en", limiter=budget)


async def test_without_an_address_the_setting_is_named():
    app = Penstock("test", settings=settings(None))
    with pytest.raises(SourceMisconfigured, match="PENSTOCK_LINKING_RECONCILIATION_URL is not set"):
        Sources(app).get("reconciliation")
