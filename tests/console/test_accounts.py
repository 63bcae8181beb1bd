"""Users and tokens over HTTP, and what is kept of them."""

import asyncio

import pytest

from penstock.console.people import accounts
from penstock.console.people.accounts import hashed
from penstock.control.acting import By, Role
from penstock.errors import UsageError
from tests.console.conftest import Service
from tests.console.logging_in import browser

TOKENS = "/api/me/tokens"


async def test_a_token_makes_no_token_and_sets_no_password(service: Service) -> None:
    """Who found a token has what it may do, until it is revoked, and no way to stay."""
    password = {"new": "lamps light the long corridor"}
    signed_in = await service.signed_in("ann")
    both = {"Authorization": f"Bearer {service.tokens['ann']}"}
    for client, headers in ((await service.client("ann"), {}), (signed_in, both)):
        for answer in (
            await client.post(TOKENS, json={"name": "mine"}, headers=headers),
            await client.put("/api/me/password", json=password, headers=headers),
        ):
            assert (answer.status_code, "requires a session" in answer.json()["detail"]) == (403, True), answer.text
    root = await service.client("root")
    assert (await root.post("/api/users/root/login-link")).status_code == 403, "a link is a session"
    kept = "select (select count(*) from penstock.tokens), (select count(password_hash) from penstock.users)"
    assert tuple((await service.fetch(kept))[0]) == (4, 0)
    assert (await signed_in.post(TOKENS, json={"name": "mine"})).status_code == 201
    assert (await signed_in.put("/api/me/password", json=password)).status_code == 200
    changed = await (await service.client("ann")).put(
        "/api/me/password", json={"current": password["new"], "new": "a heron waits at the weir"}
    )
    assert changed.status_code == 403, "nor does it guess the one that is there"


async def test_a_token_is_shown_once_and_only_its_hash_is_kept(service: Service) -> None:
    client = await service.signed_in("eve")
    made = (await client.post(TOKENS, json={"name": "my script", "expiresDays": 30})).json()
    assert len(made["token"]) == 47 and made["token"].startswith("pst_") and made["hint"] == made["token"][:8]
    [newest, _] = (await client.get(TOKENS)).json()["items"]
    assert (newest["name"], newest["hint"], newest["expiresAt"]) == ("my script", made["hint"], made["expiresAt"])
    assert made["token"] not in str(newest)
    [row] = await service.fetch(
        "select hash, extract(epoch from expires_at - created_at)::float / 86400 as days "
        "from penstock.tokens where id = $1",
        made["tokenId"],
    )
    assert (row["hash"], row["days"]) == (hashed(made["token"]), 30)


async def test_no_secret_is_in_any_table(service: Service) -> None:
    token = (await (await service.signed_in("ann")).post(TOKENS, json={})).json()["token"]
    used, unused = await accounts.login_code(service.app, "ann"), await accounts.login_code(service.app, "ann")
    async with browser(service) as client:
        await client.post("/login", data={"code": used})
        secrets = [token, used, unused, client.cookies["penstock_session"]]
        await client.post("/api/logout")
    dumped = ""
    for table in ("users", "tokens", "sessions", "login_links", "audit"):
        for row in await service.fetch(f"select t::text as text from penstock.{table} t"):
            dumped += row["text"]
    assert hashed(token).hex() in dumped, "the dump does not show hashes, so it would not show secrets"
    for secret in secrets:
        assert secret not in dumped and secret.encode().hex() not in dumped


async def test_another_users_token_is_unknown_to_everybody_else(service: Service) -> None:
    made = (await (await service.signed_in("ann")).post(TOKENS, json={})).json()
    for name in ("bob", "root"):
        other = await service.client(name)
        assert (await other.delete(f"{TOKENS}/{made['tokenId']}")).status_code == 404
        assert made["tokenId"] not in [one["tokenId"] for one in (await other.get(TOKENS)).json()["items"]]
    never = await (await service.client("bob")).delete(f"{TOKENS}/999999")
    assert never.status_code == 404
    answer = await (await service.client("ann")).get("/api/me", headers={"Authorization": f"Bearer {made['token']}"})
    assert answer.status_code == 200


async def test_tokens_come_in_pages(service: Service) -> None:
    client = await service.signed_in("ann")
    made = [(await client.post(TOKENS, json={"name": f"n{n}"})).json()["tokenId"] for n in range(4)]
    seen: list[int] = []
    after: dict[str, str] = {}
    while True:
        page = (await client.get(TOKENS, params={"pageSize": 2, **after})).json()
        seen += [one["tokenId"] for one in page["items"]]
        if page["nextCursor"] is None:
            break
        after = {"after": page["nextCursor"]}
    assert seen[:4] == made[::-1] and len(seen) == 5
    foreign = await (await service.client("bob")).get(TOKENS, params={"pageSize": 2, **after})
    assert foreign.status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"name": "a\x00b"},
        {"name": "a\nb"},
        {"expiresDays": 0},
        {"expiresDays": 3651},
        {"expiresDays": "30"},
        {"userName": "root"},
        {"role": "admin"},
    ],
)
async def test_a_token_with_wrong_or_foreign_fields_is_refused(service: Service, body: dict[str, object]) -> None:
    assert (await (await service.signed_in("ann")).post(TOKENS, json=body)).status_code == 422


async def test_admins_make_and_change_users(service: Service) -> None:
    root = await service.client("root")
    made = await root.post("/api/users", json={"name": "zoe@example.org", "role": "viewer"})
    assert (made.status_code, made.json()["role"]) == (201, "viewer")
    changed = (await root.patch("/api/users/zoe@example.org", json={"role": "operator"})).json()
    assert (changed["role"], changed["disabledAt"]) == ("operator", None)
    names = [one["name"] for one in (await root.get("/api/users")).json()["items"]]
    assert names == ["ann", "bob", "eve", "root", "zoe@example.org"]
    link = (await (await service.signed_in("root")).post("/api/users/zoe@example.org/login-link")).json()
    async with browser(service) as client:
        assert (await client.post("/login", data={"code": link["path"].partition("=")[2]})).status_code == 303
        me = (await client.get("/api/me")).json()
        assert (me["name"], me["role"]) == ("zoe@example.org", "operator")


async def test_users_come_in_pages(service: Service) -> None:
    root = await service.client("root")
    first = (await root.get("/api/users", params={"pageSize": 3})).json()
    rest = (await root.get("/api/users", params={"pageSize": 3, "after": first["nextCursor"]})).json()
    assert [one["name"] for one in (*first["items"], *rest["items"])] == ["ann", "bob", "eve", "root"]
    assert rest["nextCursor"] is None


@pytest.mark.parametrize("name", ["ann", "eve"])
async def test_nobody_but_an_admin_sees_or_makes_users(service: Service, name: str) -> None:
    client = await service.client(name)
    asked = [
        await client.get("/api/users"),
        await client.post("/api/users", json={"name": "mallory", "role": "admin"}),
        await client.patch(f"/api/users/{name}", json={"role": "admin"}),
        await client.post("/api/users/root/login-link"),
    ]
    assert [answer.status_code for answer in asked] == [403] * 4
    assert (await client.get("/api/me")).json()["role"] != "admin"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "", {"name": "ann"}, 400),
        ("POST", "", {"name": "Ann"}, 422),
        ("POST", "", {"name": "a\n"}, 422),
        ("POST", "", {"name": "new", "role": "king"}, 422),
        ("POST", "", {"name": "new", "id": 1}, 422),
        ("POST", "", {"name": "new", "disabledAt": None}, 422),
        ("PATCH", "/nobody", {"role": "viewer"}, 404),
        ("PATCH", "/ann", {"name": "anna"}, 422),
        ("PATCH", "/ann", {"disabled": "yes"}, 422),
        ("PATCH", "/%00", {}, 422),
        ("POST", "/nobody/login-link", None, 403),
    ],
)
async def test_a_wrong_request_about_users_is_refused_and_says_why(
    service: Service, method: str, path: str, body: object, status: int
) -> None:
    answer = await (await service.client("root")).request(method, f"/api/users{path}", json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]
    assert len(await service.fetch("select from penstock.users")) == 4


async def test_the_last_admin_stays_admin(service: Service) -> None:
    root = await service.client("root")
    for change in ({"role": "viewer"}, {"disabled": True}):
        refused = await root.patch("/api/users/root", json=change)
        assert (refused.status_code, "last admin" in refused.json()["detail"]) == (400, True)
    await root.patch("/api/users/ann", json={"role": "admin"})
    assert (await root.patch("/api/users/root", json={"role": "viewer"})).status_code == 200


async def test_two_admins_who_demote_each_other_at_the_same_time_leave_one(service: Service) -> None:
    await accounts.change_user(service.app, "ann", role=Role.admin, by=By(actor="test"))
    for _ in range(10):
        ended = await asyncio.gather(
            *(
                accounts.change_user(service.app, name, role=Role.viewer, by=By(actor="test"))
                for name in ("ann", "root")
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(one, UsageError) for one in ended) == 1
        assert len(await service.fetch("select from penstock.users where role = 'admin'")) == 1
        await service.fetch("update penstock.users set role = 'admin' where name in ('ann', 'root')")
