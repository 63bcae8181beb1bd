"""Who gets in."""

import httpx2
import pytest

from tests.console.conftest import Service
from tests.console.logging_in import browser, log_in

ME = "/api/me"
TOKENS = "/api/me/tokens"


async def test_a_token_says_who_asks(service: Service) -> None:
    answer = await (await service.client("ann")).get(ME)
    assert (answer.status_code, answer.json() | {"name": "ann", "role": "operator"}) == (200, answer.json())


async def test_without_a_token_nothing_is_answered(service: Service) -> None:
    answer = await (await service.client(None)).get(ME)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_an_expired_token_does_not_count(service: Service) -> None:
    await service.add_user("old", "operator", expired=True)
    assert (await (await service.client("old")).get(ME)).status_code == 401


async def test_a_revoked_token_does_not_count_from_the_next_request_on(service: Service) -> None:
    client = await service.signed_in("ann")
    made = (await client.post(TOKENS, json={})).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert (await client.get(ME, headers=headers)).status_code == 200
    assert (await client.delete(f"{TOKENS}/{made['tokenId']}")).status_code == 204
    assert (await client.get(ME, headers=headers)).status_code == 401


async def test_a_session_says_who_asks(service: Service) -> None:
    async with browser(service) as client:
        await log_in(service, client, "eve")
        me = (await client.get(ME)).json()
        assert (me["name"], me["role"]) == ("eve", "viewer")
        assert (await client.post(TOKENS, json={})).status_code == 201


@pytest.mark.parametrize(
    "past",
    [
        pytest.param("expires_at = now()", id="idle for too long"),
        pytest.param("created_at = now() - interval '7 days'", id="seven days old, however busy"),
    ],
)
async def test_an_expired_session_does_not_count(service: Service, past: str) -> None:
    async with browser(service) as client:
        await log_in(service, client, "ann")
        assert (await client.get(ME)).status_code == 200
        await service.fetch(f"update penstock.sessions set {past}")
        assert (await client.get(ME)).status_code == 401


async def test_use_keeps_a_session_alive_up_to_seven_days(service: Service) -> None:
    left = "select extract(epoch from expires_at - now())::float as seconds from penstock.sessions"
    async with browser(service) as client:
        await log_in(service, client, "ann")
        for created_days_ago, hours in ((0, 12), (6.9, 2.4)):
            await service.fetch(
                "update penstock.sessions set expires_at = now() + interval '1 hour', "
                "created_at = now() - $1 * interval '1 day'",
                created_days_ago,
            )
            assert (await client.get(ME)).status_code == 200
            [row] = await service.fetch(left)
            assert row["seconds"] == pytest.approx(hours * 3600, abs=60)


async def test_a_disabled_user_is_out_at_once_by_token_and_by_session(service: Service) -> None:
    root = await service.client("root")
    async with browser(service) as client:
        await log_in(service, client, "ann")
        assert (await root.patch("/api/users/ann", json={"disabled": True})).status_code == 200
        assert (await client.get(ME)).status_code == 401
        assert (await (await service.client("ann")).get(ME)).status_code == 401
        assert (await root.patch("/api/users/ann", json={"disabled": False})).json()["disabledAt"] is None
        assert (await (await service.client("ann")).get(ME)).status_code == 200
        assert (await client.get(ME)).status_code == 401, "the old session counts again"


async def test_with_a_token_and_a_cookie_the_token_counts(service: Service) -> None:
    async with browser(service) as client:
        await log_in(service, client, "ann")
        as_bob = {"Authorization": f"Bearer {service.tokens['bob']}"}
        assert (await client.get(ME, headers=as_bob)).json()["name"] == "bob"
        assert (await client.get(ME, headers={"Authorization": "Bearer wrong"})).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Origin": "https://evil.example"}, id="another host"),
        pytest.param({"Origin": "http://service:8081"}, id="another port"),
        pytest.param({"Origin": "null"}, id="a sandboxed page"),
        pytest.param({"Origin": "http://[service"}, id="no origin at all"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="the browser says so"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="a neighbouring site"),
        pytest.param({}, id="nothing tells where it comes from"),
    ],
)
async def test_a_forged_request_of_another_site_changes_nothing(service: Service, headers: dict[str, str]) -> None:
    async with browser(service) as client:
        await log_in(service, client, "ann")
        del client.headers["origin"]
        before = await service.fetch("select id from penstock.tokens")
        refused = await client.post(TOKENS, json={}, headers=headers)
        assert (refused.status_code, "Origin" in refused.json()["detail"]) == (403, True)
        assert await service.fetch("select id from penstock.tokens") == before
        assert (await client.get(ME, headers=headers)).status_code == 200, "reading is harmless: nobody else sees it"


async def test_a_browser_that_tells_no_origin_may_tell_its_site(service: Service) -> None:
    async with browser(service) as client:
        await log_in(service, client, "ann")
        del client.headers["origin"]
        assert (await client.post(TOKENS, json={}, headers={"Sec-Fetch-Site": "same-origin"})).status_code == 201


@pytest.mark.parametrize("credential", ["\x00", "ü", "x" * 5000, "a b"])
async def test_a_credential_that_nobody_was_given_is_only_refused(service: Service, credential: str) -> None:
    client = await service.client(None)
    for name, value in (("Authorization", f"Bearer {credential}"), ("Cookie", f"penstock_session={credential}")):
        answer = await client.request("GET", ME, headers=httpx2.Headers([(name.encode(), value.encode("utf-8"))]))
        assert answer.status_code == 401
