"""`penstock config show`: every setting, and no secret."""

import orjson
import pytest

from penstock.config import Settings
from penstock.control.schema import without_password
from tests.cli.conftest import Call


def test_every_setting_is_shown_with_where_it_came_from(call: Call):
    ended = call("config", "show", "-o", "json", "--app", "shop:app", runners="3")
    rows = {row["setting"]: row for row in orjson.loads(ended.stdout)}
    assert list(rows) == list(Settings.model_fields)
    assert (rows["runners"]["value"], rows["runners"]["origin"]) == (3, "environment PENSTOCK_RUNNERS")
    assert (rows["app"]["value"], rows["app"]["origin"]) == ("shop:app", "command line")
    assert (rows["port"]["value"], rows["port"]["origin"]) == (8080, "default")


@pytest.mark.parametrize("command", [("config", "show"), ("doctor",)])
def test_a_setting_of_an_extension_that_only_the_application_knows_is_no_unknown_one(
    call: Call, command: tuple[str, ...], database_url: str
):
    app = "tests.outside.stamps_app:app"
    ended = call(*command, "--app", app, "-o", "json", stamps_most="5", database_url=database_url)
    assert "STAMPS" not in ended.stderr
    if command == ("config", "show"):
        rows = {row["setting"]: row for row in orjson.loads(ended.stdout)}
        assert rows["stamps_most"]["value"] == 5
    else:
        findings = {row["check"]: row for row in orjson.loads(ended.stdout)}
        assert findings["settings"]["health"] == "ok"


def test_every_command_that_reads_the_database_names_a_mistyped_variable(call: Call, database_url: str):
    ended = call("status", databse_url="postgresql://elsewhere/shop", database_url=database_url)
    assert ended.returncode == 0
    assert "PENSTOCK_DATABSE_URL" in ended.stderr and "Did you mean PENSTOCK_DATABASE_URL?" in ended.stderr


@pytest.mark.parametrize("output", ["json", "text"])
def test_the_password_inside_the_url_is_masked(call: Call, output: str):
    ended = call("config", "show", "-o", output, database_url="postgresql://shop:s3cret@db.local:5433/shop")
    assert "postgresql://shop:***@db.local:5433/shop" in ended.stdout
    assert "s3cret" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p%40x@h:1/d?sslmode=require", "postgresql://u:***@h:1/d?sslmode=require"),
        ("postgresql:///d?host=/tmp/x&password=p", "postgresql:///d?host=/tmp/x&password=***"),
        ("postgresql://u:a@b@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:a/b?c@h/d", "postgresql://u:***@h/d"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
    ],
)
def test_passwords_are_masked_wherever_a_url_can_hold_one(url: str, shown: str):
    assert without_password(url) == shown
