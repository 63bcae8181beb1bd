"""`penstock sites`: add, watch, edit, approve, run again, report."""

import io
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from penstock.extensions.sites.commands.add import StageLine
from penstock.insight.job_steps import Step
from tests.cli.conftest import Background, Call
from tests.cli.waiting import wait_until

APP = "tests.cli.sites_app:app"
Start = Callable[..., Background]


@pytest.fixture
def sites(call: Call, database_url: str) -> Callable[..., Any]:
    """Calls `penstock sites …` with the application of the tests, for a user that is there."""
    assert call("users", "create", "admin", "--role", "admin", database_url=database_url).returncode == 0

    def run(*arguments: str, **settings: str) -> Any:
        return call("sites", *arguments, app=APP, database_url=database_url, **settings)

    return run


@pytest.fixture
def worker(start: Start, database_url: str) -> Background:
    return start("worker", "--app", APP, database_url=database_url)


def test_sites_are_added_watched_and_reported(sites: Callable[..., Any], worker: Background, tmp_path: Path):
    file, report = tmp_path / "sites.csv", tmp_path / "report.html"
    file.write_text("Website\none.example\ntwo.example\nOne.example\n")
    done = sites("add", "three.example", "--file", str(file), "--wait", "--report", str(report), "-o", "json")
    assert done.returncode == 0, done.stderr + worker.stderr
    data = orjson.loads(done.stdout)
    assert (data["state"], data["sites"], data["done"]) == ("DONE", 3, 3)
    assert "3/3 sites · reading 0 · prompts 0 · models 0" in done.stderr
    assert "one.example" in report.read_text()
    job = str(data["job_id"])
    listed = orjson.loads(sites("status", "-o", "json").stdout)
    assert [(one["job_id"], one["current_step"]) for one in listed["items"]] == [(data["job_id"], "completed")]
    shown = orjson.loads(sites("status", job, "-o", "json").stdout)
    assert sorted(one["url"] for one in shown["items"]) == [f"https://{n}.example/" for n in ("one", "three", "two")]
    assert "completed" in sites("status", job).stdout
    for format, sign in (("md", "# "), ("csv", ","), ("json", "{")):
        made = sites("report", job, "--site", str(shown["items"][0]["site_id"]), "--format", format)
        assert made.returncode == 0, made.stderr
        assert sign in made.stdout


def test_prompts_are_edited_and_approved_before_models_are_asked(
    sites: Callable[..., Any], worker: Background, tmp_path: Path
):
    added = sites("add", "one.example", "--review", "-o", "json")
    job = str(orjson.loads(added.stdout)["job_id"])

    def step() -> str:
        found: str = orjson.loads(sites("status", job, "-o", "json").stdout)["current_step"]
        return found

    wait_until(lambda: step() == "model-analysis", what="the prompts", log=lambda: worker.stderr)
    assert "Who repairs bicycles?" in sites("prompts", job).stdout
    own = tmp_path / "own.txt"
    own.write_text("Who paints bicycles?\n\n")
    edited = sites("prompts", job, "--edit", str(own), "--approve")
    assert edited.returncode == 0, edited.stderr
    wait_until(lambda: step() == "completed", what="the end", log=lambda: worker.stderr)
    assert "Who paints bicycles?" in sites("prompts", job).stdout
    again = sites("run", job, "--from-stage", "model-analysis", "--wait")
    assert again.returncode == 0, again.stderr


def test_a_site_that_fails_leaves_exit_code_1_and_its_reason(sites: Callable[..., Any], worker: Background):
    done = sites("add", "broken.example", "--wait", "-o", "json")
    assert done.returncode == 1
    assert "1 failed" in done.stderr
    job = str(orjson.loads(done.stdout)["job_id"])
    assert "404" in sites("status", job).stdout


def test_a_wrong_call_is_told_in_a_sentence(sites: Callable[..., Any]):
    assert sites("add", "one.example").returncode == 0
    for arguments, code, told in (
        (("add",), 2, "No site was named"),
        (("add", "ftp://one.example"), 2, "cannot be analysed"),
        (("add", "one.example", "--models", "gpt"), 2, "known are offline"),
        (("add", "one.example", "--owner", "nobody"), 3, "no user 'nobody'"),
        (("add", "--file", "/nowhere/sites.csv"), 2, "cannot be read"),
        (("status", "77"), 3, "no job 77"),
        (("report", "77"), 3, "no job 77"),
        (("prompts", "77"), 3, "no job 77"),
        (("run", "77"), 3, "no job 77"),
    ):
        done = sites(*arguments)
        assert (done.returncode, told in done.stderr) == (code, True), f"{arguments}: {done.stderr}"
        assert "Traceback" not in done.stderr


def test_ctrl_c_ends_the_waiting_and_not_the_analysis(sites: Callable[..., Any], start: Start, database_url: str):
    waiting = start("sites", "add", "one.example", "--wait", app=APP, database_url=database_url)
    stored = lambda: bool(orjson.loads(sites("status", "-o", "json").stdout)["items"])  # noqa: E731
    wait_until(stored, what="the analysis", log=lambda: waiting.stderr)
    waiting.interrupt()
    assert waiting.ended() == 130
    assert "goes on" in waiting.stderr
    assert orjson.loads(sites("status", "-o", "json").stdout)["items"][0]["state"] == "QUEUED"


def test_models_are_listed_with_what_is_missing(sites: Callable[..., Any], tmp_path: Path):
    file = tmp_path / "models.toml"
    file.write_text('[[model]]\nname="one"\nurl="https://api.example/v1"\nmodel="m"\nkey_variable="ONE_KEY"\n')
    done = sites("models", "-o", "json", sites_models_file=str(file))
    assert [(one["name"], one["ready"]) for one in orjson.loads(done.stdout)] == [("offline", True), ("one", False)]
    assert "ONE_KEY" in done.stdout


def test_the_sample_site_is_served_and_says_what_to_allow(start: Start):
    serving = start("sites", "sample-site", "-o", "json")
    told = serving.announced()
    page = urllib.request.urlopen(told["url"]).read().decode()
    assert "Willow Lane Bicycles" in page
    assert told["setting"] == "PENSTOCK_SITES_ALLOWED_HOSTS=" + told["url"].removeprefix("http://").rstrip("/")
    places = urllib.request.urlopen(told["url"] + "sitemap.xml").read().decode()
    assert places.count("<loc>") == 5
    serving.interrupt()
    assert serving.ended() == 0


def test_the_line_tells_what_each_stage_works_on():
    line = StageLine(io.StringIO(), 48)
    line.steps = [
        Step(stage=stage, waiting=9, running=running, done=0, failed=0, cancelled=0)
        for stage, running in (("website-analysis", 3), ("prompt-forming", 0), ("model-analysis", 5))
    ]
    assert line.line(12, 1) == "12/48 sites · reading 3 · prompts 0 · models 5 · 1 failed"
    assert line.line(12) == "12/48 sites · reading 3 · prompts 0 · models 5"
