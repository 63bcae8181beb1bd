"""The browsers one is signed in with."""

import pytest

from penstock.console.http.routes.me import device
from tests.console.conftest import Service
from tests.console.logging_in import browser, log_in


async def test_one_sees_ones_browsers_and_which_of_them_asks(service: Service) -> None:
    async with browser(service) as here, browser(service, address="203.0.113.9") as elsewhere:
        await log_in(service, here, "ann")
        await log_in(service, elsewhere, "ann")
        found = (await here.get("/api/me/sessions")).json()["items"]
        assert {(one["ip"], one["current"]) for one in found} == {("203.0.113.7", True), ("203.0.113.9", False)}
        assert {one["device"] for one in found} == {"Firefox"}
    by_token = (await (await service.client("ann")).get("/api/me/sessions")).json()["items"]
    assert [one["current"] for one in by_token] == [False, False]
    assert (await (await service.client("bob")).get("/api/me/sessions")).json()["items"] == []


async def test_a_session_is_ended_from_another_browser(service: Service) -> None:
    async with browser(service) as here, browser(service) as elsewhere:
        await log_in(service, here, "ann")
        await log_in(service, elsewhere, "ann")
        [other] = [one for one in (await here.get("/api/me/sessions")).json()["items"] if not one["current"]]
        path = f"/api/me/sessions/{other['sessionId']}"
        assert (await (await service.client("bob")).delete(path)).status_code == 404
        assert (await here.delete(path)).status_code == 204
        assert (await elsewhere.get("/api/me")).status_code == 401
        assert (await here.delete(path)).status_code == 404, "it has ended already"
        assert (await here.get("/api/me")).status_code == 200
    [entry] = await service.fetch("select object from penstock.audit where action = 'session.end'")
    assert entry["object"] == str(other["sessionId"])


async def test_all_others_end_and_the_one_that_asks_stays(service: Service) -> None:
    async with browser(service) as here, browser(service) as second, browser(service) as bobs:
        await log_in(service, here, "ann")
        await log_in(service, second, "ann")
        await log_in(service, bobs, "bob")
        assert (await here.delete("/api/me/sessions")).json() == {"ended": 1}
        answers = [(await client.get("/api/me")).status_code for client in (here, second, bobs)]
        assert answers == [200, 401, 200]


async def test_only_a_token_makes_the_session_another_one(service: Service) -> None:
    async with browser(service) as here, browser(service) as second:
        await log_in(service, here, "ann")
        await log_in(service, second, "ann")
        proxys = {"Authorization": "Basic cHJveHk6cHJveHk="}
        found = (await here.get("/api/me/sessions", headers=proxys)).json()["items"]
        assert sorted(one["current"] for one in found) == [False, True]
        assert (await here.delete("/api/me/sessions", headers=proxys)).json() == {"ended": 1}
        assert (await here.get("/api/me")).status_code == 200


async def test_the_last_use_is_kept_to_the_minute(service: Service) -> None:
    async with browser(service) as here:
        await log_in(service, here, "ann")
        [before] = await service.fetch(
            "update penstock.sessions set last_seen_at = now() - interval '2 minutes' returning now() as at"
        )
        await here.get("/api/me")
        [after] = await service.fetch("select last_seen_at from penstock.sessions")
        assert after["last_seen_at"] > before["at"]


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36",
            "Chrome on Windows",
        ),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/19.0 Safari/605.1.15", "Safari on macOS"),
        ("Mozilla/5.0 (Linux; Android 16; Pixel) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("<script>", "An unknown browser"),
        (None, "An unknown browser"),
    ],
)
def test_a_browser_is_called_by_names_that_people_know(agent: str | None, words: str) -> None:
    assert device(agent) == words
