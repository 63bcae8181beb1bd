"""An extension from outside the tree, installed by pip: it brings its stage, table, route, command and screen."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import orjson
import psycopg
import pytest

from tests.cli.conftest import ROOT, Background, environment, wait_until

pytestmark = pytest.mark.timeout(300)
_APP = "tests.outside.letters_app:app"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "letters"
    shutil.copytree(ROOT / "tests" / "outside" / "letters", source)
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


def penstock(installed: Path, url: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    given = environment(PENSTOCK_DATABASE_URL=url, PYTHONPATH=f"{installed}{os.pathsep}{ROOT}", **variables)
    return subprocess.run(
        [sys.executable, "-m", "penstock.cli", *arguments],
        env=given,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_files_are_those_of_the_page_about_extensions() -> None:
    page = (ROOT / "docs" / "extensions.md").read_text("utf-8")
    blocks = dict(re.findall(r"```python\n# (penstock_letters/\w+\.py)\n(.*?)```", page, re.DOTALL))
    folder = ROOT / "tests" / "outside" / "letters"
    assert blocks == {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*.py")}


def test_it_is_found_and_brings_its_command_and_its_settings(installed: Path, bare_url: str) -> None:
    assert "letters    Write letters, and count them." in penstock(installed, bare_url, "--help").stdout
    shown = orjson.loads(penstock(installed, bare_url, "config", "show", "-o", "json", PENSTOCK_APP=_APP).stdout)
    assert [row["variable"] for row in shown if row["setting"].startswith("letters_")] == ["PENSTOCK_LETTERS_GREETING"]
    assert not any(row["setting"].startswith(("sites_", "articles_", "linking_", "catalogue_")) for row in shown)


def test_its_application_runs_with_its_table_stage_route_and_screen_and_with_no_other(
    installed: Path, bare_url: str, tmp_path: Path
) -> None:
    variables = environment(
        PENSTOCK_DATABASE_URL=bare_url,
        PENSTOCK_LETTERS_GREETING="Hello",
        PYTHONPATH=f"{installed}{os.pathsep}{ROOT}",
    )
    command = [sys.executable, "-m", "penstock.cli", "up", "--app", _APP, "-o", "json", "--port", "0"]
    with (tmp_path / "stdout").open("wb") as out, (tmp_path / "stderr").open("wb") as err:
        up = Background(subprocess.Popen(command, env=variables, cwd=ROOT, stdout=out, stderr=err), tmp_path)
    try:
        told = up.announced()
        assert penstock(installed, bare_url, "letters", "write", "Ann", PENSTOCK_APP=_APP).returncode == 0
        with httpx2.Client(base_url=told["http"], headers={"Origin": told["http"]}, timeout=60) as client:
            assert client.post("/login", data={"code": told["login"].partition("=")[2]}).status_code == 303
            wait_until(
                lambda: client.get("/api/letters").json() == ["Hello Ann"], what="the letter", log=lambda: up.stderr
            )
            assert client.get("/api/me").json()["screens"] == [{"path": "/letters", "name": "Letters"}]
            assert "<h1>Letters</h1>" in client.get("/letters", headers={"Accept": "text/html"}).text
            stages = {one["pipeline"] for one in client.get("/api/stages").json()["items"]}
            assert "letters.write" in stages and not stages & {"articles", "sites", "catalogue", "linking.search"}
            assert client.get("/api/articles").status_code == 404
            assert client.post("/api/letters", params={"to": "Bob"}).status_code == 202
            wait_until(
                lambda: "Hello Bob" in client.get("/api/letters").json(), what="the second one", log=lambda: up.stderr
            )
        assert httpx2.get(f"{told['http']}/api/letters").status_code == 401
    finally:
        up.process.terminate()
        up.ended()
    counted = penstock(installed, bare_url, "letters", "count", "-o", "json")
    assert orjson.loads(counted.stdout) == {"letters": 2}
    with psycopg.connect(bare_url) as inside:
        rows = inside.execute("select nspname from pg_namespace where nspname !~ '^(pg_|information_schema|public)'")
        assert {row[0] for row in rows} == {"penstock", "letters"}
