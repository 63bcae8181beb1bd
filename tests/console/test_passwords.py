"""Getting in with a password, changing it, and everything that must not let anybody in."""

import httpx2
import pytest

from penstock.console.http.login import next_page
from penstock.console.people import accounts, passwords
from penstock.console.people.passwords import problem_with
from penstock.control.acting import By
from penstock.errors import UsageError
from tests.console.conftest import Service
from tests.console.logging_in import browser, log_in

PASSWORD = "lamps light the long corridor"
OTHER = "a heron waits at the weir"


async def _set(service: Service, name: str = "ann", new: str = PASSWORD, **more: str) -> httpx2.Response:
    return await (await service.signed_in(name)).put("/api/me/password", json={"new": new, **more})


async def _sign_in(
    client: httpx2.AsyncClient, name: str = "ann", password: str = PASSWORD, **more: str
) -> httpx2.Response:
    return await client.post("/login", data={"name": name, "password": password, **more})


async def test_whoever_set_a_password_gets_in_with_it(service: Service) -> None:
    assert (await _set(service)).status_code == 200
    async with browser(service) as client:
        answer = await _sign_in(client, "  Ann ")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        me = (await client.get("/api/me")).json()
    assert (me["name"], me["passwordChangedAt"] is not None) == ("ann", True)
    [entry] = await service.fetch("select actor, details::text from penstock.audit where action = 'login'")
    assert tuple(entry) == ("ann", '{"way": "password"}')


async def test_a_wrong_password_is_told_beside_the_form_and_kept_where_its_user_sees_it(service: Service) -> None:
    await _set(service)
    async with browser(service) as client:
        refused = await _sign_in(client, password="not this one at all", next="/jobs")
        unknown = await _sign_in(client, "nobody-here", "not this one at all")
        assert (refused.status_code, unknown.status_code) == (403, 403)
        assert 'role="alert"' in refused.text and 'value="ann"' in refused.text and 'value="/jobs"' in refused.text
        assert refused.text.replace("ann", "nobody-here").count("do not let you in") == 1
        assert (await client.get("/api/me")).status_code == 401
    rows = await service.fetch("select actor, object from penstock.audit where action = 'login.refused' order by id")
    assert [tuple(row) for row in rows] == [("-", "ann"), ("-", None)], "what is typed as a name may be a password"


async def test_who_has_no_password_or_is_disabled_does_not_get_in(service: Service) -> None:
    await _set(service, "bob")
    await accounts.change_user(service.app, "bob", disabled=True, by=By(actor="test"))
    async with browser(service) as client:
        assert (await _sign_in(client, "ann", "")).status_code == 400
        assert (await _sign_in(client, "ann")).status_code == 403
        assert (await _sign_in(client, "bob")).status_code == 403


async def test_a_new_password_ends_every_other_session_and_open_links(service: Service) -> None:
    async with browser(service) as here, browser(service) as elsewhere:
        await log_in(service, here, "ann")
        await log_in(service, elsewhere, "ann")
        link = await accounts.login_code(service.app, "ann")
        assert (await here.put("/api/me/password", json={"new": PASSWORD})).status_code == 200
        assert (await here.get("/api/me")).status_code == 200
        assert (await elsewhere.get("/api/me")).status_code == 401
        assert (await elsewhere.post("/login", data={"code": link})).status_code == 403


async def test_the_current_password_is_needed_to_change_it(service: Service) -> None:
    await _set(service)
    for current in ({}, {"current": OTHER}):
        refused = await _set(service, new=OTHER, **current)
        assert (refused.status_code, "current password" in refused.json()["detail"]) == (400, True)
    assert (await _set(service, new=OTHER, current=PASSWORD)).status_code == 200
    async with browser(service) as client:
        assert (await _sign_in(client)).status_code == 403
        assert (await _sign_in(client, password=OTHER)).status_code == 303


async def test_who_was_disabled_in_the_moment_of_the_change_does_not_get_past_the_current_password(
    service: Service,
) -> None:
    await _set(service)
    kept = "select password_hash from penstock.users where name = 'ann'"
    before = await service.fetch(kept)
    await service.fetch("update penstock.users set disabled_at = now() where name = 'ann'")
    hashes, by = passwords.PasswordHashes(), By(actor="ann", ip=None, request_id="")
    with pytest.raises(UsageError, match="disabled"):
        await passwords.change(service.app, hashes, "ann", current=None, new=OTHER, by=by)
    assert await service.fetch(kept) == before


async def test_an_admin_takes_a_password_away_and_its_sessions_with_it(service: Service) -> None:
    await _set(service)
    root = await service.client("root")
    async with browser(service) as client:
        await _sign_in(client)
        assert (await root.delete("/api/users/ann/password")).json()["passwordChangedAt"] is None
        assert (await client.get("/api/me")).status_code == 401
        assert (await _sign_in(client)).status_code == 403
    assert (await root.delete("/api/users/nobody/password")).status_code == 404
    [entry] = await service.fetch(
        "select actor, object, owner from penstock.audit where action = 'user.password_removed'"
    )
    assert tuple(entry) == ("root", "ann", "ann")


async def test_attempts_with_one_name_are_bounded_from_wherever_they_come(service: Service) -> None:
    await _set(service)
    for number in range(9):
        async with browser(service, address=f"203.0.113.{number}") as client:
            assert (await _sign_in(client, password="guess guess guess")).status_code == 403
    async with browser(service, address="203.0.113.77") as client:
        refused = await _sign_in(client)
        assert (refused.status_code, int(refused.headers["retry-after"]) > 100) == (429, True)
        assert "login link works" in refused.text
        await log_in(service, client, "ann")


async def test_an_unknown_name_costs_the_same_work_as_a_wrong_password(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a look at a password it would be answered many times faster."""
    await _set(service)
    work: list[tuple[int, ...]] = []
    derived = passwords._derived

    def noted(password: str, salt: bytes, *cost: int) -> bytes:
        work.append((len(salt), *cost))
        return derived(password, salt, *cost)

    monkeypatch.setattr(passwords, "_derived", noted)
    async with browser(service) as client:
        await _sign_in(client, "ann", "guess guess guess")
        await _sign_in(client, "nobody-here", "guess guess guess")
    known, unknown = work
    assert known == unknown


async def test_another_site_cannot_send_the_form(service: Service) -> None:
    await _set(service)
    async with browser(service) as client:
        answer = await client.post(
            "/login", data={"name": "ann", "password": PASSWORD}, headers={"Origin": "https://evil.example"}
        )
        assert (answer.status_code, len(client.cookies)) == (403, 0)


async def test_the_page_shows_what_was_typed_as_text(service: Service) -> None:
    evil = '"><script>alert(1)</script>'
    async with browser(service) as client:
        shown = (await _sign_in(client, evil, "x", next=evil)).text + (await client.get("/login?next=/%22%3E%3Cb")).text
    assert "<script" not in shown and '"><b' not in shown


@pytest.mark.parametrize("wanted", ["/jobs/7", "/jobs?state=RUNNING", "/stages/add/add?minutes=5", "/settings"])
async def test_after_the_login_one_is_where_one_wanted_to_be(service: Service, wanted: str) -> None:
    await _set(service)
    async with browser(service) as client:
        assert (await _sign_in(client, next=wanted)).headers["location"] == wanted
        code = await accounts.login_code(service.app, "ann")
        assert (await client.post("/login", data={"code": code, "next": wanted})).headers["location"] == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "evil.example",
        " //evil.example",
        "/ /evil.example",
        "/\u2028/evil.example",
        "/login?next=/login",
        "/api/jobs",
        "/api",
        "/" + "x" * 3000,
        "",
        None,
    ],
)
def test_no_address_leads_away_from_here(wanted: str | None) -> None:
    assert next_page(wanted) == "/"


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("short", "12 characters"),
        ("x" * 201, "at most 200"),
        ("aaaabbbbaaaabbbb", "different characters"),
        ("ann.smith.ann.smith", "your name"),
        ("ann.smith1234", "your name"),
        ("Password1234", "first that anybody"),
        ("password!password!", "first that anybody"),
        ("123456789012", "first that anybody"),
        ("Correct Horse Battery Staple", "first that anybody"),
    ],
)
def test_a_password_that_is_easily_guessed_is_refused(password: str, said: str) -> None:
    assert said in (problem_with(password, name="ann.smith") or "")


@pytest.mark.parametrize("password", [PASSWORD, "password 8151 of lamps", "ün résumé très long", "7Xk0qPz-mm2w"])
def test_a_long_one_will_do_without_rules_about_signs(password: str) -> None:
    assert problem_with(password, name="ann") is None


async def test_a_weak_one_is_refused_with_the_reason(service: Service) -> None:
    refused = await _set(service, new="Password1234")
    assert (refused.status_code, "anybody would try" in refused.json()["detail"]) == (400, True)


def test_a_hash_holds_its_parameters_and_fits_its_password_alone() -> None:
    kept = passwords.make_hash(PASSWORD)
    assert kept.startswith("scrypt$15$8$1$") and PASSWORD not in kept
    assert kept != passwords.make_hash(PASSWORD), "its own salt"
    assert passwords.hash_fits(PASSWORD, kept)
    assert not passwords.hash_fits(OTHER, kept)
    assert not passwords.hash_fits(PASSWORD, None)


def test_a_hash_of_other_parameters_still_counts_and_nonsense_never() -> None:
    weaker = passwords._derived(PASSWORD, b"salt", 10, 8, 1)
    kept = f"scrypt$10$8$1${passwords._text(b'salt')}${passwords._text(weaker)}"
    assert passwords.hash_fits(PASSWORD, kept)
    for nonsense in ("", "scrypt", "scrypt$99$8$1$AAAA$AAAA", "scrypt$x$8$1$AAAA$AAAA", "a$b$c$d$e$f"):
        assert not passwords.hash_fits(PASSWORD, nonsense)


def test_the_same_password_typed_on_another_keyboard_fits() -> None:
    assert passwords.hash_fits("cafe\u0301 cafe\u0301 au lait", passwords.make_hash("caf\u00e9 caf\u00e9 au lait"))
