"""`penstock users` and `penstock tokens`."""

import getpass
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from penstock.console.http.listening import bind
from penstock.console.people.accounts import hashed
from tests.cli.seeing.command_line import CommandLine


@pytest.fixture
def penstock(database_url: str) -> CommandLine:
    return CommandLine(database_url)


async def test_a_user_is_made_listed_changed_disabled_and_enabled(penstock: CommandLine) -> None:
    assert "No users yet" in (await penstock("users", "list")).stderr
    assert (await penstock.json("users", "create", "ann"))["role"] == "operator"
    assert "penstock users login bob" in (await penstock("users", "create", "bob", "--role", "viewer")).stdout
    assert (await penstock.json("users", "role", "bob", "admin"))["role"] == "admin"
    assert (await penstock.json("users", "disable", "ann"))["disabled_at"] is not None
    listed = (await penstock("users", "list")).stdout.splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [["ann", "operator"], ["bob", "admin"]]
    assert "disabled since" in listed[1] and "enabled" in listed[2]
    assert (await penstock.json("users", "enable", "ann"))["disabled_at"] is None


async def test_lists_come_in_pages(penstock: CommandLine) -> None:
    for name in ("ann", "bob", "eve"):
        await penstock("users", "create", name)
        await penstock("tokens", "create", name)
    page = await penstock.json("users", "list", "--limit", 2)
    rest = await penstock.json("users", "list", "--limit", 2, "--after", page["next"])
    assert [one["name"] for one in (*page["items"], *rest["items"])] == ["ann", "bob", "eve"]
    page = await penstock.json("tokens", "list", "--limit", 2)
    rest = await penstock.json("tokens", "list", "--limit", 2, "--after", page["next"])
    assert [one["user"] for one in (*page["items"], *rest["items"])] == ["eve", "bob", "ann"]
    assert (page["next"] is None, rest["next"]) == (False, None)


async def test_a_new_token_is_all_that_stands_on_stdout(penstock: CommandLine, connection: asyncpg.Connection) -> None:
    await penstock("users", "create", "ann")
    ended = await penstock("tokens", "create", "ann", "--name", "ci", "--expires-days", 7)
    token = ended.stdout.removesuffix("\n")
    assert token.startswith("pst_") and "\n" not in token and token not in ended.stderr
    assert await connection.fetchval("select hash from penstock.tokens") == hashed(token)
    made = await penstock.json("tokens", "create", "ann")
    assert made["token"].startswith("pst_") and made["expires_at"] is None
    for output in ((await penstock("tokens", "list")).stdout, str(await penstock.json("tokens", "list"))):
        assert token not in output and made["token"] not in output and token[:8] in output


async def test_a_token_is_revoked_by_its_id(penstock: CommandLine) -> None:
    await penstock("users", "create", "ann")
    made = await penstock.json("tokens", "create", "ann")
    assert (await penstock.json("tokens", "revoke", made["id"]))["revoked_at"] is not None
    [listed] = (await penstock.json("tokens", "list", "--user", "ann"))["items"]
    assert (listed["id"], listed["revoked_at"] is None) == (made["id"], False)
    assert "next: penstock tokens list" in (await penstock("tokens", "revoke", 99, code=3)).stderr


async def test_a_login_link_is_printed_for_the_address_of_the_service(
    penstock: CommandLine, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOST", "0.0.0.0")
    with bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        monkeypatch.setenv("PENSTOCK_PORT", str(port))
        await penstock("users", "create", "ann")
        printed = await penstock("users", "login", "ann")
    url = urlsplit(printed.stdout.strip())
    assert (url.scheme, url.netloc, url.path) == ("http", f"127.0.0.1:{port}", "/login")
    assert "guess" not in printed.stderr
    assert await connection.fetchval("select hash from penstock.login_links") == hashed(parse_qs(url.query)["code"][0])
    given = await penstock.json("users", "login", "ann", "--address", "https://work.example/")
    assert given["url"] == f"https://work.example/login?code={given['code']}"
    assert "nothing listens there now" in (await penstock("users", "login", "ann")).stderr
    monkeypatch.setenv("PENSTOCK_PORT", "0")
    assert "--address" in (await penstock("users", "login", "ann", code=2)).stderr


async def test_what_the_command_line_does_is_audited_with_the_systems_user(
    penstock: CommandLine, connection: asyncpg.Connection
) -> None:
    await penstock("users", "create", "ann")
    await penstock("users", "login", "ann")
    await penstock("tokens", "create", "ann")
    rows = await connection.fetch("select actor, action, owner from penstock.audit order by id")
    assert [row["action"] for row in rows] == ["user.create", "login.link", "token.create"]
    assert {(row["actor"], row["owner"]) for row in rows} == {(f"cli:{getpass.getuser()}", "ann")}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("users", "create", "ann"), 2, "There is a user 'ann' already."),
        (("users", "create", "Ann Smith"), 2, "lower-case letters"),
        (("users", "create", "bob", "--role", "king"), 2, "king"),
        (("users", "disable", "bob"), 3, "There is no user 'bob'."),
        (("users", "login", "bob"), 3, "next: penstock users list"),
        (("tokens", "create", "bob"), 3, "There is no user 'bob'."),
        (("tokens", "create", "ann", "--expires-days", 0), 2, "expires-days"),
        (("tokens", "create", "ann", "--name", "a\nb"), 2, "token name"),
        (("tokens", "create", "off"), 2, "penstock users enable off"),
        (("users", "disable", "ann"), 2, "last admin"),
    ],
)
async def test_a_wrong_call_says_what_is_wrong_and_changes_nothing(
    penstock: CommandLine, connection: asyncpg.Connection, arguments: tuple[object, ...], code: int, said: str
) -> None:
    await penstock("users", "create", "ann", "--role", "admin")
    await penstock("users", "create", "off")
    await penstock("users", "disable", "off")
    before = await connection.fetchval("select count(*) from penstock.audit")
    ended = await penstock(*arguments, code=code)
    assert said in ended.stderr and ended.stdout == ""
    assert await connection.fetchval("select count(*) from penstock.audit") == before


async def test_a_password_is_read_from_a_pipe_and_never_from_an_argument(
    penstock: CommandLine, connection: asyncpg.Connection
) -> None:
    await penstock("users", "create", "ann")
    weak = await penstock("users", "password", "ann", stdin="short\n", code=2)
    assert "12 characters" in weak.stderr
    done = await penstock("users", "password", "ann", stdin="lamps light the long corridor\n")
    kept = await connection.fetchval("select password_hash from penstock.users")
    assert kept.startswith("scrypt$")
    assert "corridor" not in done.stdout + done.stderr
    await penstock("users", "password", "ann", "--remove")
    assert await connection.fetchval("select password_hash from penstock.users") is None
    await penstock("users", "password", "nobody", stdin="x\n", code=3)


async def test_settings_are_changed_and_taken_back(penstock: CommandLine, connection: asyncpg.Connection) -> None:
    assert "90 days" in (await penstock("settings", "set", "auditDays", "90")).stdout
    assert await connection.fetchval("select value::text from penstock.preferences") == "90.0"
    assert "auditDays" in (await penstock("settings", "list")).stdout
    for name, value, code in (
        ("auditDays", "0.1", 2),
        ("auditDays", "soon", 2),
        ("pendingPage", "3", 2),
        ("no", "1", 3),
    ):
        await penstock("settings", "set", name, value, code=code)
    await penstock("settings", "reset", "auditDays")
    assert await connection.fetch("select from penstock.preferences") == []
