"""`penstock demo` beside a real `penstock up`."""

from collections.abc import Callable

import orjson

from tests.cli.conftest import Background, Call

Start = Callable[..., Background]


def test_the_demonstration_is_shown_and_can_be_taken_away_when_up_has_ended(
    start: Start, call: Call, database_url: str
):
    up = start("up", "-o", "json", "--port", "0", database_url=database_url)
    up.announced()
    shown = call("demo", "--size", "3", "--seconds", "1", database_url=database_url)
    assert shown.returncode == 0, shown.stderr
    assert "demo: receipts" in shown.stdout
    assert "penstock demo --remove" in shown.stderr
    refused = call("demo", "--remove", database_url=database_url)
    assert (refused.returncode, "is being served by" in refused.stderr) == (4, True)
    up.interrupt()
    assert up.ended() == 0, up.stderr
    removed = call("demo", "--remove", "-o", "json", database_url=database_url)
    assert removed.returncode == 0, removed.stderr
    assert (orjson.loads(removed.stdout)["jobs"], orjson.loads(removed.stdout)["kept"]) == (4, [])
