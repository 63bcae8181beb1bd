"""Wikidata over real HTTP on loopback: what is asked, what is made of answers, and of everything that is no answer."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import orjson
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.control import limits
from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.shared import Sources
from penstock.extensions.linking.sources.source import Found, SourceMisconfigured
from penstock.extensions.linking.sources.wikidata import Wikidata
from penstock.limits.budgets import PostgresBudgets
from penstock.limits.limiter import Limiters
from tests.extensions.quick_http import Reply
from tests.extensions.wikidata_server import WikidataServer, counts_of, running
from tests.extensions.wikidata_world import World, generated, item, time
from tests.recorded_grants import RecordedGrants
from tests.unit.gcra import most_above_the_limit

AGENT = "penstock-tests/1.0 (https://example.org; tests@example.org)"


class Counting:
    """A limiter that never waits, and remembers."""

    def __init__(self) -> None:
        self.permits = 0
        self.learned: list[int | None] = []
        self.penalties: list[float] = []

    async def acquire(self, weight: int = 1) -> None:
        self.permits += weight

    async def learn(self, headers: Mapping[str, str], status: int | None = None) -> float | None:
        self.learned.append(status)
        return float(headers["retry-after"]) if (status or 0) >= 400 and "retry-after" in headers else None

    async def penalise(self, retry_after_seconds: float, reason: str = "") -> None:
        self.penalties.append(retry_after_seconds)


def settings(url: str, **more: Any) -> Any:
    given = {"linking_endpoint": url, "linking_user_agent": AGENT} | more
    return load(database_url="postgresql://nobody@127.0.0.1:9/none", **given)


def small_world() -> World:
    world = World()
    world.add(
        "Q101",
        {"en": "Ada Quillfeather", "de": "Ada Federkiel", "fr": "Ada Plume", "mul": "A. Q."},
        aliases={"en": ["Lady Quill"], "fr": ["La Plume"]},
        claims={"P31": [item("Q5")], "P569": [time("+1815-12-10")]},
        links=3,
    )
    world.add("Q102", {"en": "Ada Quillfeather"}, claims={"P31": [item("Q11446")]}, links=1)
    world.add("Q103", {"en": "Quillfeather Hall"})
    world.redirect("Q150", "Q101")
    world.delete("Q160")
    return world


@pytest.fixture
async def server() -> AsyncIterator[WikidataServer]:
    async with WikidataServer(small_world()) as made:
        yield made


@pytest.fixture
async def wikidata(server: WikidataServer) -> AsyncIterator[Wikidata]:
    made = Wikidata(settings(server.url, linking_languages="de,en"))
    yield made
    await made.close()


@pytest.fixture
def budget() -> Counting:
    return Counting()


# ---------------------------------------------------------------- searching


async def test_a_name_is_found_best_first_with_one_request(
    wikidata: Wikidata, server: WikidataServer, budget: Counting
):
    found = await wikidata.search("  ada \n quillfeather ", "en", limit=5, limiter=budget)
    assert found == Found(ids=("Q101", "Q102"))
    [request] = server.requests
    assert budget.permits == 1
    assert budget.learned == [200]
    assert request.headers["user-agent"] == AGENT
    assert request.headers["accept-encoding"] == "gzip"
    wanted = {"language": "en", "uselang": "en", "type": "item", "limit": "5", "maxlag": "5", "formatversion": "2"}
    assert wanted.items() <= request.fields.items()


async def test_a_name_is_found_by_alias_and_in_other_languages(wikidata: Wikidata, budget: Counting):
    assert (await wikidata.search("la plume", "fr", limiter=budget)).ids == ("Q101",)
    assert (await wikidata.search("Federkiel", "de", limiter=budget)).ids == ("Q101",)
    assert (await wikidata.search("Federkiel", "en", limiter=budget)).ids == ()


async def test_an_empty_name_is_not_asked(wikidata: Wikidata, server: WikidataServer, budget: Counting):
    assert await wikidata.search(" \0\t", "en", limiter=budget) == Found()
    assert (server.requests, budget.permits) == ([], 0)


async def test_a_name_that_is_too_long_is_cut(wikidata: Wikidata, server: WikidataServer, budget: Counting):
    await wikidata.search("x" * 5000, "en", limiter=budget)
    assert len(server.requests[0].fields["search"]) == 250


async def test_what_is_no_language_is_refused_before_it_is_asked(
    wikidata: Wikidata, server: WikidataServer, budget: Counting
):
    with pytest.raises(PermanentError, match=r"'en\|de' is no code of a language"):
        await wikidata.search("Ada", "en|de", limiter=budget)
    assert server.requests == []


async def test_more_than_fifty_candidates_are_asked_for_in_several_requests(budget: Counting):
    world = World()
    for number in range(1, 131):
        world.add(f"Q{number}", {"en": f"Namesake {number:03}"})
    async with WikidataServer(world) as server:
        wikidata = Wikidata(settings(server.url))
        found = await wikidata.search("Namesake", "en", limit=120, limiter=budget)
        await wikidata.close()
    assert len(set(found.ids)) == 120
    assert [request.fields["limit"] for request in server.requests] == ["50", "50", "20"]


# ---------------------------------------------------------------- entities


async def test_entities_come_by_the_id_that_was_asked_for_also_when_they_moved_or_are_gone(
    wikidata: Wikidata, server: WikidataServer, budget: Counting
):
    found = await wikidata.entities(["Q101", "Q150", "Q160", "Q999"], limiter=budget)
    assert {id: one and one.id for id, one in found.items()} == {
        "Q101": "Q101",
        "Q150": "Q101",
        "Q160": None,
        "Q999": None,
    }
    ada = found["Q101"]
    assert ada is not None
    assert dict(ada.labels) == {"en": "Ada Quillfeather", "de": "Ada Federkiel", "mul": "A. Q."}
    assert (ada.aliases["en"], ada.types, ada.links) == (("Lady Quill",), ("Q5",), 3)
    assert server.requests[0].fields["languages"] == "de|en|mul"
    assert len(server.requests) == 1


async def test_redirects_are_understood_where_they_stand_beside_the_entities(
    wikidata: Wikidata, server: WikidataServer, budget: Counting
):
    told = {"entities": {"Q101": {"id": "Q101", "labels": []}}, "redirects": [{"from": "Q150", "to": "Q101"}]}
    server.answers.append(Reply(body=orjson.dumps(told)))
    found = await wikidata.entities(["Q150"], limiter=budget)
    assert found["Q150"] is not None
    assert found["Q150"].id == "Q101"


async def test_names_come_in_the_languages_of_the_project_too(wikidata: Wikidata, budget: Counting):
    found = (await wikidata.entities(["Q101"], languages=["fr"], limiter=budget))["Q101"]
    assert found is not None
    assert found.labels["fr"] == "Ada Plume"


async def test_fifty_ids_go_into_one_request(budget: Counting):
    async with WikidataServer(generated(120)) as server:
        wikidata = Wikidata(settings(server.url))
        found = await wikidata.entities([f"Q{1000 + n}" for n in range(120)], limiter=budget)
        await wikidata.close()
    assert all(found.values())
    assert [request.fields["ids"].count("|") + 1 for request in server.requests] == [50, 50, 20]
    assert budget.permits == 3


async def test_an_id_that_is_refused_by_name_does_not_lose_the_others(
    wikidata: Wikidata, server: WikidataServer, budget: Counting
):
    found = await wikidata.entities(["Q101", "Q99999999999", "not an id", "Q103"], limiter=budget)
    assert {id: one is not None for id, one in found.items()} == {
        "Q101": True,
        "Q99999999999": False,
        "not an id": False,
        "Q103": True,
    }
    assert len(server.requests) == 2


async def test_an_id_that_is_refused_without_its_name_is_found_in_halves(
    wikidata: Wikidata, server: WikidataServer, budget: Counting, monkeypatch: pytest.MonkeyPatch
):
    told = server._data

    def nameless(fields: Any) -> Any:
        code, data = told(fields)
        data.get("error", {}).pop("id", None)
        return code, data

    monkeypatch.setattr(server, "_data", nameless)
    found = await wikidata.entities(["Q101", "Q102", "Q99999999999", "Q103"], limiter=budget)
    assert [id for id, one in found.items() if one is None] == ["Q99999999999"]


async def test_what_an_answer_left_out_is_asked_for_again(wikidata: Wikidata, server: WikidataServer, budget: Counting):
    """Answers are cut when they grow beyond what the API gives out at once."""
    server.answers.append(Reply(body=orjson.dumps({"entities": {"Q101": {"id": "Q101", "labels": {}}}})))
    found = await wikidata.entities(["Q101", "Q102", "Q103"], limiter=budget)
    assert all(found.values())
    assert [request.fields["ids"] for request in server.requests] == ["Q101|Q102|Q103", "Q102|Q103"]


# ---------------------------------------------------------------- what is no answer


def page(status: int) -> Reply:
    body = b"<html><title>Our servers are\n resting</title></html>"
    return Reply(status=status, body=body, headers={"Content-Type": "text/html"})


def api_error(code: str, **more: Any) -> Reply:
    return Reply(body=orjson.dumps({"error": {"code": code, "info": "so it is."} | more}))


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (page(500), TransientError, "answered 500"),
        (page(200), TransientError, "a web page titled 'Our servers are resting' in the place of JSON"),
        (Reply(body=b"{"), TransientError, "is no JSON"),
        (Reply(body=b"[]"), TransientError, "no 'object' in it"),
        (Reply(body=b"{}"), TransientError, "no 'search' in it"),
        (api_error("internal_api_error_DBQueryError"), TransientError, "internal_api_error_DBQueryError: so it is"),
        (api_error("badvalue"), PermanentError, "badvalue: so it is. Check PENSTOCK_LINKING_ENDPOINT"),
        (Reply(status=400, body=b'{"error": "what?"}'), PermanentError, r"answered 400 \(what\?\)"),
        (page(403), SourceMisconfigured, "PENSTOCK_LINKING_USER_AGENT says who you are"),
        (
            Reply(status=302, body=b"", headers={"Location": "http://elsewhere.example/w/api.php"}),
            PermanentError,
            "final",
        ),
        (Reply(status=302, body=b"", headers={"Location": "http://["}), SourceMisconfigured, "another place"),
        (Reply(status=302, body=b""), SourceMisconfigured, "another place"),
    ],
)
async def test_an_answer_that_is_none_says_what_it_was(
    wikidata: Wikidata, server: WikidataServer, budget: Counting, reply: Reply, kind: type[Exception], says: str
):
    server.answers.append(reply)
    with pytest.raises(kind, match=says):
        await wikidata.search("Ada", "en", limiter=budget)


@pytest.mark.parametrize(
    ("reply", "wait"),
    [
        (Reply(status=429, body=b"", headers={"Retry-After": "7"}), 7.0),
        (Reply(status=429, body=b""), 1.0),
        (Reply(status=503, body=b"", headers={"Retry-After": "30"}), 30.0),
        (api_error("maxlag", lag=12.5), 12.5),
        (api_error("maxlag", lag=0.2), 1.0),
        (api_error("maxlag", lag=86_400), 60.0),
        (api_error("maxlag", lag=float("nan")), 1.0),
        (api_error("ratelimited"), 1.0),
        (api_error("readonly"), 1.0),
    ],
)
async def test_who_asks_to_wait_gets_the_wait(
    wikidata: Wikidata, server: WikidataServer, budget: Counting, reply: Reply, wait: float
):
    server.answers.append(reply)
    with pytest.raises(ThrottledError) as raised:
        await wikidata.search("Ada", "en", limiter=budget)
    assert (raised.value.retry_after, raised.value.key) == (wait, "linking:wikidata")


async def test_maxlag_holds_everybody_back_though_its_status_is_200(
    wikidata: Wikidata, server: WikidataServer, budget: Counting
):
    server.lag_seconds, server.retry_after = 12.0, "6"
    with pytest.raises(ThrottledError, match=r"12\.0 seconds lagged"):
        await wikidata.entities(["Q101"], limiter=budget)
    assert budget.penalties == [6.0]
    server.lag_seconds = 4.0  # less than we said we bear
    assert (await wikidata.entities(["Q101"], limiter=budget))["Q101"] is not None


async def test_a_redirect_within_the_host_is_followed_and_takes_a_permit(
    wikidata: Wikidata, server: WikidataServer, budget: Counting
):
    query = "action=wbsearchentities&search=Ada&language=en"
    server.answers.append(Reply(status=301, body=b"", headers={"Location": f"/w/api.php?{query}"}))
    assert (await wikidata.search("Ada", "en", limiter=budget)).ids == ("Q101", "Q102")
    assert budget.permits == 2


async def test_a_host_that_redirects_for_ever_is_left(wikidata: Wikidata, server: WikidataServer, budget: Counting):
    server.answers.extend([Reply(status=302, body=b"", headers={"Location": "/w/api.php"})] * 9)
    with pytest.raises(SourceMisconfigured, match="more than 3 times"):
        await wikidata.search("Ada", "en", limiter=budget)
    assert budget.permits == 4


async def test_an_answer_that_never_comes_is_waited_for_as_long_as_the_setting_says(budget: Counting):
    async with WikidataServer(World(), fail_share=1.0, failures=("timeout",)) as server:
        wikidata = Wikidata(settings(server.url, linking_timeout_seconds=0.2))
        with pytest.raises(TransientError, match=r"took longer than 0\.2 s"):
            await wikidata.search("Ada", "en", limiter=budget)
        await wikidata.close()


async def test_a_host_that_is_not_there_may_be_there_later(budget: Counting):
    async with WikidataServer(World()) as server:
        url = server.url
    wikidata = Wikidata(settings(url))
    with pytest.raises(TransientError, match="cannot be reached"):
        await wikidata.search("Ada", "en", limiter=budget)
    await wikidata.close()


async def test_an_answer_without_end_is_read_only_so_far(wikidata: Wikidata, server: WikidataServer, budget: Counting):
    server.answers.append(Reply(body=b" " * (64 * 1024 * 1024 + 1)))  # packed, it is a few kilobytes
    with pytest.raises(PermanentError, match="larger than 67,108,864 bytes"):
        await wikidata.search("Ada", "en", limiter=budget)


async def test_no_more_requests_are_under_way_than_the_setting_says(budget: Counting):
    async with WikidataServer(small_world(), latency_seconds=0.02) as server:
        wikidata = Wikidata(settings(server.url, linking_concurrency=3))
        await asyncio.gather(*(wikidata.search(f"Ada {n}", "en", limiter=budget) for n in range(20)))
        await wikidata.close()
        assert server.most_at_once == 3


# ---------------------------------------------------------------- settings and limits


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"linking_user_agent": None}, "PENSTOCK_LINKING_USER_AGENT is not set.*example.org"),
        ({"linking_user_agent": "     "}, "PENSTOCK_LINKING_USER_AGENT is not set"),
        ({"linking_user_agent": "me\r\nX-Other: 1"}, "printable ASCII"),
        ({"linking_endpoint": "ftp://example.org"}, "begin with https://"),
        ({"linking_endpoint": "http://["}, "is no address"),
        ({"linking_endpoint": "http://www.example.org/w/api.php"}, "Use https"),
        ({"linking_endpoint": "https://me:secret@example.org/w/api.php"}, "neither a login nor"),
    ],
)
async def test_a_setting_that_will_not_do_is_named_before_anything_is_asked(given: dict[str, Any], says: str):
    app = Penstock("test", settings=settings("http://127.0.0.1:9/w/api.php", **given))
    with pytest.raises(SourceMisconfigured, match=says) as raised:
        Sources(app).get("wikidata")
    assert "secret" not in str(raised.value)


async def test_a_source_of_another_name_is_not_known():
    app = Penstock("test", settings=settings("http://127.0.0.1:9/w/api.php"))
    with pytest.raises(SourceMisconfigured, match=r"no source 'wiki'\. Use wikidata, reconciliation or sample"):
        Sources(app).get("wiki")


async def test_the_limit_of_the_settings_counts_until_a_person_sets_another_one(
    database_url: str, server: WikidataServer
):
    given = {"linking_endpoint": server.url, "linking_user_agent": AGENT, "linking_per_second": 40}
    app = Penstock("test", settings=load(database_url=database_url, **given))
    first, second = Sources(app), Sources(app)
    try:
        assert await first.prepare("wikidata") is first.get("wikidata")
        [view] = await limits.listing(app)
        assert (view.key, view.rate, view.burst) == ("linking:wikidata", 40.0, 2)
        await limits.configure(app, "linking:wikidata", 3.0, 1, by="a person")
        await second.prepare("wikidata")
        assert [view.rate for view in await limits.listing(app)] == [3.0]
    finally:
        await first.close()
        await app.close()


async def test_a_block_that_came_before_the_limit_does_not_keep_the_limit_away(
    database_url: str, server: WikidataServer
):
    given = {"linking_endpoint": server.url, "linking_user_agent": AGENT}
    app = Penstock("test", settings=load(database_url=database_url, **given))
    try:
        await limits.block(app, "linking:wikidata", 3000, by="a person")
        await Sources(app).prepare("wikidata")
        [view] = await limits.listing(app)
        assert (view.rate, view.burst) == (5.0, 1)
        assert view.blocked_seconds > 2000
    finally:
        await app.close()


async def test_the_real_limiter_grants_what_the_setting_says(database_url: str):
    async with running(entities=200) as url:
        given = {"linking_endpoint": url, "linking_user_agent": AGENT, "linking_per_second": 36}
        app = Penstock("test", settings=load(database_url=database_url, **given))
        sources, granted = Sources(app), RecordedGrants()
        try:
            wikidata = await sources.prepare("wikidata")
            budgets = PostgresBudgets(_Pool(app))
            granted.watch(budgets)
            limiter = Limiters(_Pool(app), app.events, hold_seconds=60.0, budgets=budgets).of(wikidata.key)
            names = list(generated(200).names)[:80]
            found = await asyncio.gather(*(wikidata.search(name, "en", limiter=limiter) for name in names))
            assert all(one.ids for one in found)
            counts = await counts_of(url)
            assert counts["answers"] == {"200": 80}
            assert set(counts["search"]) == {f"en|{name}" for name in names}
            [view] = await limits.listing(app)
            assert len(granted.grants) >= 80
            assert most_above_the_limit(granted.grants, 36, view.burst) <= 1e-3
        finally:
            await sources.close()
            await app.close()


async def test_the_real_limiter_hears_the_refusals_of_the_server(database_url: str):
    async with WikidataServer(generated(200)) as server:
        server.answers.extend([Reply(status=429, body=b"", headers={"Retry-After": "3600"})] * 80)
        given = {"linking_endpoint": server.url, "linking_user_agent": AGENT}
        app = Penstock("test", settings=load(database_url=database_url, **given))
        sources = Sources(app)
        try:
            wikidata = await sources.prepare("wikidata")
            limiter = Limiters(_Pool(app), app.events, hold_seconds=10.0).of(wikidata.key)
            names = list(generated(200).names)[:80]
            await limits.configure(app, wikidata.key, 1000.0, 100, by="a person")
            asked = [wikidata.search(name, "en", limiter=limiter) for name in names]
            ends = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(one, ThrottledError) for one in ends)
            # Those that were under way were refused; all others did not ask.
            assert 1 <= len(server.requests) <= 2 * app.settings.of(LinkingSettings).concurrency
        finally:
            await sources.close()
            await app.close()


async def test_the_server_counts_its_failures_by_seed():
    async def answers() -> dict[str, int]:
        async with running(entities=20, fail_share=0.3, seed=7) as url:
            async with httpx2.AsyncClient(trust_env=False) as client:
                for _ in range(60):
                    await client.get(url, params={"action": "wbgetentities", "ids": "Q1000", "props": ""})
            return dict((await counts_of(url))["answers"])

    first = await answers()
    assert set(first) == {"200", "500", "502", "html"}
    assert first == await answers()


class _Pool:
    def __init__(self, app: Penstock) -> None:
        self._app = app

    def acquire(self) -> Any:
        return self._app.connection()
