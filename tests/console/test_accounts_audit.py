"""The audit log: every act with who, from where and what, and who may read it."""

import re

from penstock.storage import audit
from tests.cli.conftest import ROOT
from tests.console.conftest import Service
from tests.console.logging_in import browser, log_in


async def acts(service: Service, name: str, **filters: str) -> list[dict[str, object]]:
    answer = await (await service.client(name)).get("/api/audit", params=filters)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, object]] = answer.json()["items"]
    return items


async def note(service: Service, number: int) -> None:
    """Even ones by ann, odd ones by bob on a job of ann's."""
    entry = audit.Entry(
        actor="bob" if number % 2 else "ann", action="job.pause", kind="job", object=str(number), owner="ann"
    )
    async with service.app.connection() as connection:
        await audit.append(connection, entry)


async def test_every_act_on_accounts_is_kept_with_who_from_where_and_what(service: Service) -> None:
    async with browser(service) as client:
        await log_in(service, client, "root")
        await client.post("/api/users", json={"name": "zoe"})
        await client.patch("/api/users/zoe", json={"role": "viewer", "disabled": True})
        await client.patch("/api/users/zoe", json={"disabled": False})
        await client.patch("/api/users/zoe", json={"disabled": False})
        made = (await client.post("/api/me/tokens", json={"name": "ci"})).json()
        revoked = await client.delete(f"/api/me/tokens/{made['tokenId']}")
        await client.post("/api/logout")
    kept = [one for one in await acts(service, "root") if one["actor"] == "root"][::-1]
    assert [(one["action"], one["kind"], one["object"], one["details"]) for one in kept] == [
        ("login", "user", "root", {"way": "link"}),
        ("user.create", "user", "zoe", {"role": "operator"}),
        ("user.role", "user", "zoe", {"role": "viewer", "before": "operator"}),
        ("user.disable", "user", "zoe", {}),
        ("user.enable", "user", "zoe", {}),
        ("token.create", "token", str(made["tokenId"]), {"name": "ci", "expires_days": None}),
        ("token.revoke", "token", str(made["tokenId"]), {"name": "ci"}),
        ("logout", "user", "root", {}),
    ]
    assert {one["ip"] for one in kept} == {"203.0.113.7"}
    assert kept[6]["requestId"] == revoked.headers["x-request-id"]
    link = (await acts(service, "root", action="login.link"))[0]
    assert (str(link["actor"])[:4], link["object"]) == ("cli:", "root")


async def test_an_act_that_is_refused_leaves_no_entry(service: Service) -> None:
    before = await acts(service, "root")
    await (await service.client("root")).post("/api/users", json={"name": "ann"})
    await (await service.client("root")).patch("/api/users/root", json={"disabled": True})
    assert await acts(service, "root") == before


async def test_an_operator_sees_own_acts_and_acts_on_own_objects_only(service: Service) -> None:
    await (await service.signed_in("ann")).post("/api/me/tokens", json={"name": "hers"})
    await (await service.signed_in("bob")).post("/api/me/tokens", json={"name": "his"})
    await (await service.client("root")).patch("/api/users/ann", json={"role": "admin"})
    await (await service.client("root")).patch("/api/users/ann", json={"role": "operator"})
    seen = [(one["actor"], one["action"]) for one in await acts(service, "ann")]
    assert seen == [("root", "user.role"), ("root", "user.role"), ("ann", "token.create")]
    assert await acts(service, "ann", actor="bob") == []
    assert {one["actor"] for one in await acts(service, "root")} == {"ann", "bob", "root"}
    assert (await (await service.client("eve")).get("/api/audit")).status_code == 403


async def test_filters_choose_and_pages_go_on_behind_each_other(service: Service) -> None:
    for number in range(7):
        await note(service, number)
    for filters, count in (
        ({"actor": "ann"}, 4),
        ({"actor": "ann", "action": "job.pause"}, 4),
        ({"action": "job.resume"}, 0),
        ({"kind": "job"}, 7),
        ({"kind": "job", "object": "3"}, 1),
        ({"kind": "job", "object": "3", "actor": "ann"}, 0),
    ):
        assert len(await acts(service, "root", **filters)) == count, filters
    client = await service.client("root")
    ids, params = [], {"pageSize": "3", "kind": "job"}
    while True:
        page = (await client.get("/api/audit", params=params)).json()
        ids += [one["object"] for one in page["items"]]
        if page["nextCursor"] is None:
            break
        params["after"] = page["nextCursor"]
    assert ids == list("6543210")
    assert (await client.get("/api/audit", params={**params, "kind": "user"})).status_code == 400


async def test_a_page_looks_at_a_bounded_number_of_entries_and_says_where_to_go_on(service: Service) -> None:
    for number in range(7):
        await note(service, number)
    for chosen in (
        audit.AuditFilter(object="0"),
        audit.AuditFilter(object="0", actor="ann"),
        audit.AuditFilter(object="0", concerning="ann"),
    ):
        async with service.app.connection() as connection:
            first = await audit.page(connection, chosen, limit=5, looked_at=2)
            assert first.entries == [] and first.next_before_id is not None
            page = first
            while page.next_before_id is not None:
                page = await audit.page(connection, chosen, before_id=page.next_before_id, limit=5, looked_at=2)
                if page.entries:
                    break
        assert [one.object for one in page.entries] == ["0"]


async def test_a_filter_that_the_database_cannot_hold_is_refused(service: Service) -> None:
    client = await service.client("root")
    for query in ("actor=%00", "kind=", f"object={'x' * 201}", "pageSize=0", "pageSize=501"):
        assert (await client.get(f"/api/audit?{query}")).status_code == 422
    assert (await client.get("/api/audit?actor=%ff%ed%a0%80")).status_code == 200
    assert (await client.get("/api/audit?after=nonsense")).status_code == 400


async def test_what_admins_only_read_can_be_left_out(service: Service) -> None:
    await note(service, 0)
    assert (await (await service.client("root")).get("/api/jobs", params={"userId": "all"})).status_code == 200
    assert [act["action"] for act in await acts(service, "root")] == ["jobs.look_at_all", "job.pause"]
    assert [act["action"] for act in await acts(service, "root", looks="false")] == ["job.pause"]
    assert [act["action"] for act in await acts(service, "root", looks="false", actor="ann")] == ["job.pause"]
    assert [act["action"] for act in await acts(service, "ann", looks="false")] == ["job.pause"]
    async with service.app.connection() as connection:
        await audit.append(connection, audit.Entry(actor="root", action="job.look", kind="job", object="0", look=True))
    assert len(await acts(service, "root", kind="job", object="0")) == 2
    assert [act["action"] for act in await acts(service, "root", kind="job", object="0", looks="false")] == [
        "job.pause"
    ]


def test_every_act_has_words_on_the_screen() -> None:
    words = set(re.findall(r'^  "?([a-z_.-]+)"?: "', (ROOT / "ui/src/screens/people/auditWords.ts").read_text(), re.M))
    written = set()
    for path in (path for folder in ("src", "demo") for path in (ROOT / folder).rglob("*.py")):
        written |= set(re.findall(r'entry\(\s*"([a-z_-]+(?:\.[a-z_.-]+)?)"', path.read_text()))
    assert written - words == set()
