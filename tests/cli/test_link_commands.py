"""`penstock link`: from a file to reviewed matches, against the sample source on loopback."""

import asyncio
import csv
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import orjson
import pytest

from penstock.extensions.linking import progress, sample_source
from penstock.extensions.linking.commands.importing import with_roles
from penstock.extensions.linking.commands.matching import RunLine
from penstock.extensions.linking.record import RecordState
from penstock.extensions.linking.sample_source import SampleSource
from penstock.extensions.linking.scoring.properties import compare
from penstock.extensions.linking.sources.wikidata_values import entity_of
from penstock_demo import card_index
from tests.cli.conftest import ROOT, Background, Call, environment

APP = "tests.cli.linking_app:app"
Start = Callable[..., Background]
Link = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def source(start: Start) -> dict[str, str]:
    """The settings that make the sample source the one that is asked."""
    told: dict[str, str] = start("link", "sample-source", "-o", "json").announced()["settings"]
    given = {name.removeprefix("PENSTOCK_").lower(): value for name, value in told.items()}
    return given | {"linking_per_second": "500"}


@pytest.fixture
def link(call: Call, database_url: str, source: dict[str, str]) -> Link:
    assert call("users", "create", "admin", "--role", "admin", database_url=database_url).returncode == 0
    return lambda *arguments, **more: call(
        "link", *arguments, **{"app": APP, "database_url": database_url, **source, **more}
    )


@pytest.fixture
def worker(start: Start, database_url: str, source: dict[str, str]) -> Background:
    return start("worker", "--app", APP, database_url=database_url, **source)


@pytest.fixture
def matched(link: Link, worker: Background, tmp_path: Path) -> str:
    """The number of the sample's project, whose records have ended."""
    file = tmp_path / "people.csv"
    file.touch()  # as a redirected output would
    assert link("sample-file", str(file)).returncode == 0
    made = data(link("import", str(file), "--type", "Q5", "-o", "json"))
    ended = link("match", str(made["project_id"]), "--wait", "-o", "json")
    assert ended.returncode == 0, ended.stderr + worker.stderr
    assert "18/18 records 100 %" in ended.stderr
    return str(made["project_id"])


def data(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.returncode == 0, done.stderr
    return orjson.loads(done.stdout)


def test_the_sample_is_imported_matched_shown_and_exported(link: Link, matched: str, tmp_path: Path) -> None:
    status = data(link("status", matched, "-o", "json"))
    counts = {name: count for name, count in status["counts"].items() if count}
    assert sum(counts.values()) == 18
    assert counts["ACCEPTED"] >= 8, counts
    assert counts["REVIEW"] >= 2, counts
    assert counts["NO_CANDIDATE"] >= 2, counts
    assert f"`penstock link review {matched}`" in link("status", matched).stdout
    assert [one["project_id"] for one in data(link("list", "-o", "json"))["items"]] == [int(matched)]
    one = link("review", matched, "--record", "1").stdout
    assert "  Ada Quillfeather  Q900001 – cartographer" in one
    assert one.index("  name ") < one.index("  born ") < one.index("[1] ")
    assert "P569" in one
    for ending in ("csv", "xlsx", "json"):
        out = tmp_path / f"out.{ending}"
        assert f"18 rows of project {matched} are in {out}" in link("export", matched, "-O", str(out)).stdout
        assert out.stat().st_size > 500
    (tmp_path / "people.csv").write_text("mine\n")
    refused = link("export", matched, "-O", str(tmp_path / "people.csv"))
    assert (refused.returncode, "add --force" in refused.stderr) == (2, True)
    assert (tmp_path / "people.csv").read_text() == "mine\n"
    assert link("export", matched, "-O", str(tmp_path / "people.csv"), "--force").returncode == 0
    other = link("export", matched, "-f", "json", "-O", str(tmp_path / "new.csv"))
    assert (other.returncode, "says csv" in other.stderr, (tmp_path / "new.csv").exists()) == (2, True, False)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["match_id"], rows[0]["shelf mark"], rows[17]["match_state"]) == ("Q900001", "A-001", "NO_CANDIDATE")


def test_many_are_accepted_after_a_dry_run_and_undone(link: Link, matched: str) -> None:
    before = data(link("status", matched, "-o", "json"))["counts"]
    strict = data(link("accept", matched, "--min-score", "0.5", "--dry-run", "-o", "json"))
    assert all(one["gap"] >= 0.1 for one in strict["examples"])
    tried = link("accept", matched, "--min-score", "0.5", "--min-gap", "0", "--dry-run")
    assert "would be accepted, 0 ahead of the second" in tried.stdout
    assert "0.00 ahead of Elva Saltmere (Q9" in tried.stdout
    assert "█" in tried.stdout
    assert "nearest to the threshold" in tried.stdout
    assert data(link("status", matched, "-o", "json"))["counts"] == before
    unasked = link("accept", matched, "--min-score", "0.5", "--min-gap", "0")
    assert (unasked.returncode, "Nobody can be asked here; add --yes" in unasked.stderr) == (2, True)
    assert data(link("status", matched, "-o", "json"))["counts"] == before
    done = data(link("accept", matched, "--min-score", "0.5", "--min-gap", "0", "--yes", "-o", "json"))
    assert done["accepted"] > strict["accepted"]
    assert link("undo", matched, "--batch", done["batch"]).stdout.startswith(f"{done['accepted']} decision")
    assert data(link("status", matched, "-o", "json"))["counts"] == before
    refused = link("accept", matched, "--min-score", "2.0")
    assert (refused.returncode, "scores go from 0 to 1" in refused.stderr) == (2, True)
    assert link("undo", matched, "--batch", "x").returncode == 2
    assert link("undo", matched).returncode == 2


def test_without_a_terminal_review_prints_a_table(link: Link, matched: str) -> None:
    shown = link("review", matched)
    assert "Elva Saltmere" in shown.stdout
    page = data(link("review", matched, "--status", "all", "-n", "5", "-o", "json"))
    assert ([one["number"] for one in page["items"]], page["next"]) == ([1, 2, 3, 4, 5], "5")
    assert page["items"][0]["candidates"][0]["parts"]
    assert link("review", matched, "--status", "done").returncode == 2
    assert "no records in error" in link("review", matched, "--status", "error").stderr
    assert link("review", matched, "--record", "99").returncode == 3


class Terminal:
    """A reviewer at a terminal: waits for a text, then presses a key."""

    def __init__(self, project: str, settings: dict[str, str]) -> None:
        self._own, other = pty.openpty()
        given = {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock.cli", "link", "review", project],
            env=environment(TERM="xterm", **given),
            cwd=ROOT,
            stdin=other,
            stdout=other,
            stderr=other,
        )
        os.close(other)
        self.seen = ""

    def until(self, text: str, seconds: float = 60.0) -> str:
        """What came up to the text and with it."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self._own], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{text!r} did not come:\n{self.seen}"
            try:
                part = os.read(self._own, 65536)
            except OSError:
                part = b""
            assert part, f"it ended before {text!r}:\n{self.seen}"
            self.seen += part.decode("utf-8", "replace")
        found, _, self.seen = self.seen.partition(text)
        return found + text

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        os.close(self._own)


@pytest.fixture
def terminal(matched: str, database_url: str, source: dict[str, str]) -> Iterator[Terminal]:
    made = Terminal(matched, {"app": APP, "database_url": database_url, **source})
    yield made
    made.end()


def test_a_reviewer_decides_with_single_keys(terminal: Terminal, link: Link, matched: str) -> None:
    waiting = [one["number"] for one in data(link("review", matched, "-o", "json"))["items"]]
    assert len(waiting) >= 2
    first, second = waiting[:2]
    shown = terminal.until("q quit")
    assert f"record {first} of people" in shown
    assert "[1]" in shown
    terminal.press("n")
    terminal.until("note: ")
    terminal.press("looked up\n")
    assert "note: looked up" in terminal.until("q quit")
    terminal.press("x")
    terminal.until("No such key here")
    terminal.until("q quit")
    terminal.press("1")
    terminal.until(f"record {first} accepted as Q9")
    assert f"record {second} of people" in terminal.until("q quit")
    terminal.press("r")
    terminal.until(f"record {second} rejected")
    terminal.press("u")
    terminal.until(f"record {second} is as it was")
    assert f"record {second} of people" in terminal.until("q quit")
    terminal.press("s")
    terminal.until("q quit" if len(waiting) > 2 else "That was all")
    if len(waiting) > 2:
        terminal.press("q")
        terminal.until("Stopped. 1 decided")
    assert terminal.process.wait(60) == 0
    record = data(link("review", matched, "--record", str(first), "-o", "json"))
    assert (record["state"], record["note"], record["history"][0]["move"]) == ("ACCEPTED", "looked up", "accept")
    assert record["decided_by"].startswith("cli:")
    untouched = data(link("review", matched, "--record", str(second), "-o", "json"))
    assert untouched["state"] == "REVIEW"


def test_weights_and_thresholds_are_changed_and_projects_deleted(link: Link, matched: str) -> None:
    done = data(link("rerank", matched, "--accept-score", "0.4", "--accept-gap", "0", "--wait", "-o", "json"))
    assert done["records"] >= 16
    counts = data(link("status", matched, "-o", "json"))["counts"]
    assert counts["REVIEW"] == 0
    assert "no FEATURE=NUMBER" in link("rerank", matched, "--weight", "name").stderr
    assert "weight of the name is 0" in link("rerank", matched, "--weight", "name=0").stderr
    assert link("cancel", matched).stdout == f"Project {matched} was at rest.\n"
    assert "Nobody can be asked here" in link("delete", matched).stderr
    assert link("delete", matched, "--yes").stdout == f"Project {matched} is deleted.\n"
    gone = link("status", matched)
    assert (gone.returncode, f"{matched}" in gone.stderr) == (3, True)


def test_a_re_rank_says_what_the_cache_has_no_answer_for(link: Link, matched: str, database_url: str) -> None:
    async def forget() -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute("delete from record_linking.searches")
        await connection.close()

    asyncio.run(forget())
    told = link("rerank", matched).stdout
    assert f"0 records of project {matched} are being ranked again." in told
    assert "records stay as they are" in told and f"`penstock link match {matched} --scope all`" in told
    done = data(link("rerank", matched, "-o", "json"))
    assert (done["records"], done["left"] >= 16, done["notice"] in told) == (0, True, True)


def test_mistakes_are_told_with_what_to_do(link: Link, tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_text("what,when\nlamp,1900\n")
    without = link("import", str(file))
    assert (without.returncode, "exactly one" in without.stderr) == (2, True)
    assert "There is no column 'who'" in link("import", str(file), "--role", "who=name").stderr
    assert "no COLUMN=ROLE" in link("import", str(file), "--role", "what").stderr
    assert link("import", str(tmp_path / "missing.csv")).returncode == 2
    assert link("import", str(file), "--role", "what=name", "--owner", "nobody").returncode == 3
    made = data(link("import", str(file), "--role", "what=name", "--role", "when=P571", "-o", "json"))
    assert made["roles"] == {"what": {"role": "name"}, "when": {"role": "property", "property": "P571"}}
    number = str(made["project_id"])
    unknown = link("match", number, "--scope", "some")
    assert (unknown.returncode, "Use one of all, new" in unknown.stderr) == (2, True)
    silent = link("match", number, linking_user_agent="")
    assert silent.returncode in (2, 4)
    assert "LINKING_USER_AGENT" in silent.stderr.upper()
    assert "no records of the scope 'failed'" in link("match", number, "--scope", "failed").stdout
    refused = link("export", number, "-O", str(tmp_path / "out.pdf"))
    assert (refused.returncode, "say which with --format" in refused.stderr) == (2, True)
    assert link("status", "999").returncode == 3


def test_the_status_says_that_no_worker_is_there(link: Link) -> None:
    file = ROOT / "src" / "penstock" / "extensions" / "linking" / "sample_people" / "people.csv"
    number = str(data(link("import", str(file), "-o", "json"))["project_id"])
    assert link("match", number).returncode == 0
    status = data(link("status", number, "-o", "json"))
    assert (status["running"], "no worker serves" in status["cause"]) == (True, True)
    again = link("match", number)
    assert (again.returncode, f"penstock link cancel {number}" in again.stderr) == (4, True)
    told = link("cancel", number).stdout
    assert told.startswith(f"17 records of project {number} were cancelled."), "one has no name"
    assert f"`penstock link match {number} --wait`" in link("status", number).stdout


def test_a_worker_without_settings_is_told_by_the_wait_and_the_status(
    link: Link, start: Start, database_url: str
) -> None:
    start("worker", "--app", APP, database_url=database_url, linking_user_agent="")
    file = ROOT / "src" / "penstock" / "extensions" / "linking" / "sample_people" / "people.csv"
    number = str(data(link("import", str(file), "-o", "json"))["project_id"])
    ended = link("match", number, "--wait")
    assert ended.returncode == 1
    for told in (ended.stdout, link("status", number).stdout):
        assert "17 × The worker on " in told
        assert "PENSTOCK_LINKING_USER_AGENT is not set" in told
        assert f"penstock link match {number} --scope failed" in told


def test_roles_that_are_given_take_the_place_of_suggested_ones() -> None:
    from penstock.extensions.linking.project import Role

    suggested = {"Name": Role(role="name"), "Born": Role(role="property", property="P569")}
    assert with_roles(suggested, ["Title=name", "Born=none", "a=b=P1"]) == {
        "Title": {"role": "name"},
        "a=b": {"role": "property", "property": "P1"},
    }


def test_the_progress_line_tells_counts_rate_eta_and_cause() -> None:
    counts = dict.fromkeys(RecordState, 0) | {RecordState.QUEUED: 8796, RecordState.ACCEPTED: 1204}
    line = RunLine(sys.stderr, 10_000, quiet=True)
    line.found = progress.Progress(
        counts=counts,
        running=True,
        job_id=1,
        requests_done=1,
        requests_left=820,
        per_second=4.9,
        eta_seconds=168,
        cause="limited to 5 requests a second by the source",
    )
    assert line.line(1204, 3) == (
        "1,204/10,000 records 12 % · 4.9 requests/s · ETA 2m48s · limited to 5 requests a second by the source · "
        "3 failed"
    )


def test_the_sample_source_answers_only_what_matching_asks() -> None:
    source = SampleSource()
    (hit, *_) = source.data({"action": "wbsearchentities", "search": "quillfeather ada"})["search"]
    assert hit["id"] == "Q900001"
    told = source.data({"action": "wbgetentities", "ids": "Q900001|Q1"})["entities"]
    assert (told["Q900001"]["labels"]["en"]["value"], told["Q1"]) == ("Ada Quillfeather", {"id": "Q1", "missing": True})
    assert "error" in source.data({"action": "edit"})


def test_countries_and_occupations_of_the_card_index_count_for_some_people_and_against_others() -> None:
    told = sample_source.entities()[:50]
    found = SampleSource().data({"action": "wbgetentities", "ids": "|".join(one["id"] for one in told)})["entities"]
    people = [one for one in map(entity_of, found.values()) if one is not None]
    rows = list(csv.DictReader(card_index.records().splitlines()))
    for column, name in (("country", "P17"), ("occupation", "P106")):
        texts = {row[column] for row in rows if row[column]}
        assert len(texts) >= 3, texts
        for text in texts:
            assert {0.0, 1.0} <= {compare([text], one.claims[name]).value for one in people}, text
