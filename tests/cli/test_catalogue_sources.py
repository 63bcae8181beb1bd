"""`penstock catalogue sources` and `watch`, as a user calls them."""

from pathlib import Path

import orjson

from tests.cli.conftest import Call


def test_a_folder_is_added_looked_at_and_taken_in(call: Call, database_url: str, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("Name,Brand\nDrill,Corvane\n")
    given = {"database_url": database_url, "file_roots": str(tmp_path)}
    assert call("users", "create", "ann", **given).returncode == 0
    place = ("shop", "folder", str(tmp_path), "--owner", "ann", "--stable-seconds", "0")
    added = call("catalogue", "sources", "add", *place, "-o", "json", **given)
    assert added.returncode == 0, added.stderr
    assert orjson.loads(added.stdout)["name"] == "shop"
    seen = call("catalogue", "sources", "test", "shop", "-o", "json", **given)
    assert [one["seen"] for one in orjson.loads(seen.stdout)] == [1]
    assert call("catalogue", "watch", "--once", **given).returncode == 0
    again = call("catalogue", "watch", "--once", "-o", "json", **given)
    assert sum(one["submitted"] + one["duplicate"] for one in orjson.loads(again.stdout)) <= 1
    jobs = orjson.loads(call("jobs", "list", "-o", "json", **given).stdout)["items"]
    assert [one["name"] for one in jobs] == ["list.csv"]
