"""What `penstock sites` says to somebody who does not know it yet: why, and what to do next."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import ROOT, Background, Call, environment
from tests.cli.waiting import wait_until

APP = "tests.cli.sites_app:app"
Start = Callable[..., Background]
Sites = Callable[..., Any]


@pytest.fixture
def sites(call: Call, database_url: str) -> Sites:
    assert call("users", "create", "admin", "--role", "admin", database_url=database_url).returncode == 0
    return lambda *arguments, **settings: call("sites", *arguments, app=APP, database_url=database_url, **settings)


@pytest.fixture
def worker(start: Start, database_url: str) -> Background:
    return start("worker", "--app", APP, database_url=database_url)


def added(sites: Sites, *arguments: str) -> str:
    done = sites("add", *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return str(orjson.loads(done.stdout)["job_id"])


def test_a_site_that_failed_is_told_with_its_sentence_and_the_next_command(sites: Sites, worker: Background):
    done = sites("add", "broken.example", "--wait")
    assert done.returncode == 1, done.stderr + worker.stderr
    assert "https://broken.example/ answers 404: there is no such page." in done.stdout
    assert "`penstock sites run 1`" in done.stdout
    assert "0/1 site ·" in done.stderr or "1/1 site ·" in done.stderr
    again = sites("run", "1", "--wait")
    assert "answers 404" in again.stdout
    prompts = sites("prompts", "1")
    assert "has no prompts: it failed before any were formed. https://broken.example/ answers 404" in prompts.stderr


def test_of_many_that_failed_the_first_three_are_told(sites: Sites, worker: Background):
    names = [f"broken{number}.example" for number in range(5)]
    done = sites("add", *names, "one.example", "--wait")
    assert done.returncode == 1, worker.stderr
    assert done.stdout.count("answers 404") == 3
    assert "2 more failed: `penstock sites status 1` shows them." in done.stdout
    assert "`penstock sites run 1 --statuses error`" in done.stdout
    shown = sites("status", "1").stdout
    assert shown.count("there is no such page.") == 5, "whole, with what to do at its end"


def test_on_a_terminal_a_long_reason_is_wrapped_and_not_cut(sites: Sites, worker: Background, database_url: str):
    name = "broken-" + "-".join(["harbour", "lantern", "orchard", "meadow"]) + ".example"
    sites("add", name, "--wait")
    leader, follower = pty.openpty()
    settings = environment(PENSTOCK_DATABASE_URL=database_url, PENSTOCK_APP=APP, COLUMNS="60")
    command = [sys.executable, "-m", "penstock.cli", "sites", "status", "1"]
    process = subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE, env=settings, cwd=ROOT)
    os.close(follower)
    output = b""
    try:
        while block := os.read(leader, 65536):
            output += block
    except OSError:
        pass  # how a pseudo-terminal says that the other side is gone
    finally:
        os.close(leader)
        assert process.stderr is not None
        process.stderr.close()
        process.wait(60)
    assert "there is no such page." in " ".join(output.decode().split())


def test_without_a_worker_the_waiting_says_what_to_start(sites: Sites, start: Start, database_url: str):
    waiting = start("sites", "add", "one.example", "--wait", app=APP, database_url=database_url)
    wait_until(lambda: "waiting:" in waiting.stderr, what="the progress line", log=lambda: waiting.stderr)
    assert "no live worker serves this stage; start `penstock up`" in waiting.stderr
    waiting.interrupt()
    assert waiting.ended() == 130


def test_a_file_that_was_meant_as_a_list_is_not_taken_for_a_website(sites: Sites, tmp_path: Path):
    file = tmp_path / "prod.csv"
    file.write_text("url\none.example\n")
    done = sites("add", str(file))
    assert done.returncode == 2
    assert f"Was `--file {file}` meant?" in done.stderr


def test_before_the_first_start_the_first_step_is_named(call: Call, database_url: str):
    done = call("sites", "add", "one.example", app=APP, database_url=database_url)
    assert done.returncode == 2
    assert "Start `penstock up` first" in done.stderr


def test_a_run_that_starts_nothing_says_why(sites: Sites, start: Start, database_url: str):
    job = added(sites, "one.example")
    assert "1 site has not ended yet, and only what has ended can run again" in sites("run", job).stdout
    worker = start("worker", "--app", APP, database_url=database_url)
    wait_until(lambda: step(sites, job) == "completed", what="the end", log=lambda: worker.stderr)
    assert "its site did not end as error" in sites("run", job, "--statuses", "error").stdout
    assert f"1 site of analysis {job} runs again." in sites("run", job).stdout


def test_a_site_that_waits_for_approval_says_so_with_the_command(sites: Sites, worker: Background, tmp_path: Path):
    job = added(sites, "one.example", "--review")
    waits = lambda: bool(orjson.loads(sites("status", job, "-o", "json").stdout)["waits_for_approval"])  # noqa: E731
    wait_until(waits, what="the prompts", log=lambda: worker.stderr)
    listed, shown = sites("status"), sites("status", job)
    assert "waits for approval" in listed.stdout
    for text in (listed.stderr, shown.stdout, sites("run", job).stdout):
        assert f"`penstock sites prompts {job} --approve`" in text
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    refused = sites("prompts", job, "--edit", str(empty))
    assert refused.returncode == 2
    assert "No prompt is left" in refused.stderr and "enqueued" not in refused.stderr
    one = tmp_path / "one.txt"
    one.write_text("Who paints bicycles?\n")
    assert "has 1 prompt now." in sites("prompts", job, "--edit", str(one)).stdout
    assert f"1 site of analysis {job} is approved." in sites("prompts", job, "--approve").stdout


def test_what_is_no_list_of_addresses_is_refused_in_words_of_the_command(sites: Sites, tmp_path: Path):
    picture, empty = tmp_path / "a.png", tmp_path / "empty.csv"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\xff\xfe\x81")
    empty.write_bytes(b"\n")
    for file, told in ((picture, "not text"), (empty, "the file is empty")):
        done = sites("add", "--file", str(file))
        assert done.returncode == 2
        assert told in done.stderr and "one address per line" in done.stderr
        assert "Upload" not in done.stderr and "which encoding" not in done.stderr


def step(sites: Sites, job: str) -> str:
    found: str = orjson.loads(sites("status", job, "-o", "json").stdout)["current_step"]
    return found
