"""One-time links, the page behind them, and the session they start."""

import asyncio
import re
import time

import pytest

from penstock.config import Settings
from penstock.console.http.attempts import Attempts
from penstock.console.people import accounts
from penstock.control.acting import By
from penstock.errors import UsageError
from penstock.upkeep.duties import Retention
from tests.console.conftest import Service
from tests.console.logging_in import browser, log_in

COOKIE = "penstock_session"


async def test_looking_at_the_link_does_not_use_it_up(service: Service) -> None:
    path = accounts.login_path(await accounts.login_code(service.app, "ann"))
    async with browser(service) as client:
        page = (await client.get(path), await client.get(path))[1]
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert COOKIE not in client.cookies
        [code] = re.findall(r'name="code" value="([^"]+)"', page.text)
        assert (await client.post("/login", data={"code": code})).status_code == 303
        assert (await client.get("/api/me")).json()["name"] == "ann"


async def test_the_page_can_run_nothing_and_be_framed_by_nobody(service: Service) -> None:
    async with browser(service) as client:
        page = await client.get("/login", params={"code": "\"><script>alert(1)</script>'"})
    assert "<script" not in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy and "script-src" not in policy
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("base_url", "secure"), [("http://service", False), ("https://service", True)])
async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(
    service: Service, base_url: str, secure: bool
) -> None:
    async with browser(service, base_url=base_url) as client:
        answer = await client.post("/login", data={"code": await accounts.login_code(service.app, "ann")})
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/", "max-age=604800"} <= attributes
    assert ("secure" in attributes) is secure


async def test_a_link_works_once(service: Service) -> None:
    code = await accounts.login_code(service.app, "ann")
    async with browser(service) as client:
        assert (await client.post("/login", data={"code": code})).status_code == 303
    async with browser(service) as other:
        again = await other.post("/login", data={"code": code})
        assert (again.status_code, COOKIE in other.cookies) == (403, False)
        assert "works once" in again.text


async def test_of_twenty_who_use_a_link_at_the_same_time_one_gets_in(service: Service) -> None:
    code = await accounts.login_code(service.app, "ann")
    tries = [
        accounts.log_in(service.app, code, agent=None, by=By(actor=accounts.NOBODY, request_id=str(n)))
        for n in range(20)
    ]
    assert sum(one is not None for one in await asyncio.gather(*tries)) == 1
    assert len(await service.fetch("select id from penstock.sessions")) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param("update penstock.login_links set expires_at = now()", id="too old"),
        pytest.param("update penstock.users set disabled_at = now()", id="of a disabled user"),
        pytest.param("delete from penstock.login_links", id="unknown"),
    ],
)
async def test_a_link_that_does_not_count_lets_nobody_in(service: Service, spoil: str) -> None:
    code = await accounts.login_code(service.app, "ann")
    await service.fetch(spoil)
    async with browser(service) as client:
        assert (await client.post("/login", data={"code": code})).status_code == 403
    assert await service.fetch("select id from penstock.sessions") == []
    [entry] = await service.fetch("select actor, ip from penstock.audit where action = 'login.refused'")
    assert tuple(entry) == ("-", "203.0.113.7")


async def test_a_link_lasts_fifteen_minutes(service: Service) -> None:
    await accounts.login_code(service.app, "ann")
    [row] = await service.fetch(
        "select extract(epoch from expires_at - created_at)::float as seconds from penstock.login_links"
    )
    assert row["seconds"] == 900


async def test_disabling_a_user_ends_their_links_for_good(service: Service) -> None:
    by = By(actor="test")
    code = await accounts.login_code(service.app, "ann")
    await accounts.change_user(service.app, "ann", disabled=True, by=by)
    with pytest.raises(UsageError, match="penstock users enable ann"):
        await accounts.login_code(service.app, "ann")
    await accounts.change_user(service.app, "ann", disabled=False, by=by)
    async with browser(service) as client:
        assert (await client.post("/login", data={"code": code})).status_code == 403


@pytest.mark.parametrize("form", [b"", b"code=", b"other=1", b"\xff\xfe", b"code=" + b"x" * 5000, b"&" * 100])
async def test_a_form_without_a_code_is_refused(service: Service, form: bytes) -> None:
    async with browser(service) as client:
        answer = await client.post(
            "/login", content=form, headers={"Content-Type": "application/x-www-form-urlencoded"}
        )
        assert (answer.status_code, "no code" in answer.text) == (400, True)


async def test_another_site_cannot_log_its_visitors_in(service: Service) -> None:
    code = await accounts.login_code(service.app, "ann")
    async with browser(service) as client:
        for _ in range(11):
            refused = await client.post("/login", data={"code": code}, headers={"Origin": "https://evil.example"})
            assert (refused.status_code, COOKIE in client.cookies) == (403, False), "and it uses no attempts up"
        assert (await client.post("/login", data={"code": code})).status_code == 303


async def test_a_logout_ends_the_session_and_not_only_the_cookie(service: Service) -> None:
    async with browser(service) as client, browser(service) as other:
        await log_in(service, client, "ann")
        await log_in(service, other, "ann")
        kept = client.cookies[COOKIE]
        assert (await client.post("/api/logout")).status_code == 204
        assert COOKIE not in client.cookies
        assert (await client.get("/api/me", headers={"Cookie": f"{COOKIE}={kept}"})).status_code == 401
        assert (await other.get("/api/me")).status_code == 200, "another browser of the same user"


async def test_a_token_does_not_end_the_session_of_somebody_else(service: Service) -> None:
    async with browser(service) as client:
        await log_in(service, client, "ann")
        cookie = {"Cookie": f"{COOKIE}={client.cookies[COOKIE]}"}
        await (await service.client("bob")).post("/api/logout", headers=cookie)
        assert (await client.get("/api/me")).status_code == 200


async def test_the_eleventh_attempt_of_an_address_in_a_minute_has_to_wait(service: Service) -> None:
    begun = time.monotonic()
    async with browser(service) as client:
        for _ in range(10):
            assert (await client.post("/login", data={"code": "guess"})).status_code == 403
        refused = await client.post("/login", data={"code": await accounts.login_code(service.app, "ann")})
        assert refused.status_code == 429
        assert 60 - (time.monotonic() - begun) <= int(refused.headers["retry-after"]) <= 60
    async with browser(service, address="203.0.113.8") as neighbour:
        await log_in(service, neighbour, "ann")


async def test_whoever_gets_in_uses_no_attempt_up_and_guesses_in_between_still_count(service: Service) -> None:
    async with browser(service) as client:
        for _ in range(10):
            await log_in(service, client, "ann")
            assert (await client.post("/login", data={"code": "guess"})).status_code == 403
        assert (await client.post("/login", data={"code": "guess"})).status_code == 429


def test_attempts_are_counted_in_a_window_that_moves() -> None:
    now = [0.0]
    attempts = Attempts(most=2, seconds=60, clock=lambda: now[0])
    waits = []
    for now[0] in (0, 30, 45, 60, 61):
        waits.append(attempts.wait_seconds("203.0.113.7"))
    assert waits == [0, 0, 15, 0, 29]


def test_a_network_of_ipv6_addresses_is_one_address_and_memory_is_bounded() -> None:
    attempts = Attempts(most=1)
    assert attempts.wait_seconds("2001:db8::1") == 0
    assert attempts.wait_seconds("2001:db8::2") > 0
    for number in range(10_001):
        attempts.wait_seconds(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(attempts._times) == 10_000


async def test_the_first_admin_is_made_once_and_gets_in(service: Service) -> None:
    await service.fetch("truncate penstock.users cascade")
    made = await asyncio.gather(*(accounts.first_admin(service.app) for _ in range(5)))
    [code] = [one for one in made if one is not None]
    async with browser(service) as client:
        assert (await client.post("/login", data={"code": code})).status_code == 303
        me = (await client.get("/api/me")).json()
        assert (me["name"], me["role"], me["passwordChangedAt"]) == ("admin", "admin", None)
    assert await accounts.first_admin(service.app) is None


async def test_where_somebody_is_already_no_admin_is_made(service: Service) -> None:
    assert await accounts.first_admin(service.app) is None
    assert await service.fetch("select from penstock.users where name = 'admin'") == []


async def test_logins_that_ended_long_ago_are_forgotten_and_no_others(service: Service) -> None:
    async with browser(service) as client:
        await log_in(service, client, "ann")
        await log_in(service, client, "bob")
        await service.fetch(
            "with s as (update penstock.sessions set expires_at = now() - interval '31 days' "
            "where user_id = (select id from penstock.users where name = 'ann')) "
            "update penstock.login_links set expires_at = now() - interval '31 days' "
            "where user_id = (select id from penstock.users where name = 'ann')"
        )
        async with service.app.connection() as connection:
            counts = await Retention(settings=Settings(retention_days=1 / 24)).run_once(connection)
        assert (counts["sessions"], counts["login_links"]) == (1, 1)
        assert (await client.get("/api/me")).json()["name"] == "bob"
