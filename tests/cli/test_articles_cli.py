"""`penstock articles`: add, import, show, edit, delete, search."""

import io
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from penstock.extensions.articles.articles import Visibility
from penstock.extensions.articles.commands import search as articles_search
from penstock.extensions.articles.commands.importing import ImportLine
from penstock.extensions.articles.fusion import Score, SemanticScore
from penstock.extensions.articles.passages import Mark, ShownPassage
from penstock.extensions.articles.searching import Answer, Hit
from penstock.extensions.articles.statistics import Coverage
from penstock.terminal.options import Options
from penstock.terminal.output import Output
from penstock.terminal.session import Session
from tests.cli.conftest import Background, Call, environment
from tests.cli.waiting import wait_until
from tests.warm import WarmStarts

APP = "tests.cli.articles_app:app"
Start = Callable[..., Background]
Articles = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def articles(call: Call, warm: WarmStarts, database_url: str) -> Articles:
    """Calls `penstock articles …` for users that are there."""
    for name, role in (("admin", "admin"), ("ann", "operator")):
        assert call("users", "create", name, "--role", role, database_url=database_url).returncode == 0

    def run(*arguments: str, text: str | None = None, **settings: str) -> "subprocess.CompletedProcess[str]":
        given = {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
        env = environment(PENSTOCK_APP=APP, PENSTOCK_DATABASE_URL=database_url, **given)
        return warm.run(["articles", *arguments], env=env, text=text or "")

    return run


@pytest.fixture
def worker(start: Start, database_url: str) -> Background:
    return start("worker", "--app", APP, database_url=database_url)


def data(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.returncode == 0, done.stderr
    return orjson.loads(done.stdout)


def test_an_article_is_added_found_changed_and_deleted(articles: Articles, worker: Background, tmp_path: Path):
    file = tmp_path / "weirs.md"
    file.write_text("# How weirs work\n\nA weir raises the water of a river.\n")
    added = data(articles("add", str(file), "-m", "first", "--shared", "--wait", "-o", "json"))
    assert (added["slug"], added["revision"], added["embedded"]) == ("how-weirs-work", 1, True), worker.stderr
    shown = data(articles("show", "how-weirs-work", "-o", "json"))
    assert shown["content"] == "A weir raises the water of a river."
    assert (shown["embedding"]["chip"], shown["visibility"], shown["message"]) == ("indexed", "shared", "first")
    found = articles("search", "raising", "water", "--explain")
    assert "How weirs work" in found.stdout
    assert "meaning: place 1" in found.stdout
    assert "1 of 1 articles are indexed" in found.stderr
    edited = articles("edit", "how-weirs-work", "-", "--wait", text="A weir slows a river.")
    assert "revision 2 and embedded" in edited.stdout, edited.stderr
    assert "A weir slows a river." in articles("show", "how-weirs-work").stdout
    listed = data(articles("revisions", "how-weirs-work", "-o", "json"))
    assert [(one["revision"], one["message"]) for one in listed["items"]] == [(2, None), (1, "first")]
    assert "raises the water" in articles("show", "how-weirs-work", "--revision", "1").stdout
    assert "Nobody can be asked here" in articles("delete", "how-weirs-work").stderr
    assert "with 2 revisions" in articles("delete", "how-weirs-work", "--yes").stdout
    assert articles("show", "how-weirs-work").returncode == 3


def test_a_text_from_a_pipe_needs_a_heading_or_a_title(articles: Articles):
    assert data(articles("add", "-o", "json", text="# Sluices\ntext"))["title"] == "Sluices"
    assert data(articles("add", "-", "--title", "Gates", "-o", "json", text="# Kept\ntext"))["slug"] == "gates"
    assert "# Kept" in articles("show", "gates").stdout
    refused = articles("add", text="no heading")
    assert (refused.returncode, "Give one with --title" in refused.stderr) == (2, True)


def test_a_folder_is_imported_and_its_embeddings_waited_for(articles: Articles, worker: Background, tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(f"# Title {name}\n\nText {name}")
    (folder / "bad.md").write_bytes(b"\0\1\2")
    done = articles("import", str(folder), "--owner", "ann", "--wait", "-o", "json")
    assert done.returncode == 1, worker.stderr
    told = orjson.loads(done.stdout)
    assert (told["created"], told["embeddings"]["done"]) == (2, 2)
    assert [one["where"] for one in told["refused"]] == ["bad.md"]
    assert "penstock: warning: bad.md: The content has a NUL character" in done.stderr
    (folder / "bad.md").unlink()
    again = articles("import", str(folder), "--owner", "ann")
    assert again.stdout == "0 articles are new, 0 updated, 2 unchanged.\n"
    assert (again.returncode, "2 articles 100 %" in again.stderr) == (0, True)
    (folder / "two.md").write_text("# Title two\n\nText two, changed")
    assert (
        "1 updated (they came from the same source before), 1 unchanged"
        in articles("import", str(folder), "--owner", "ann").stdout
    )
    elsewhere = articles("import", str(folder), "--owner", "ann", "--source", "copy", "--skip-embedding", "-o", "json")
    assert (data(elsewhere)["created"], data(articles("show", "title-one-2", "-o", "json"))["source"]) == (
        2,
        "copy/one.md",
    )
    for slug in ("title-one-2", "title-two-2"):
        articles("delete", slug, "--yes")
    assert data(articles("search", "title", "one", "--owner", "ann", "-o", "json"))["items"][0]["slug"] == "title-one"
    assert data(articles("search", "title", "--owner", "admin", "-o", "json"))["items"] == []
    near = data(articles("similar", "title-one", "-o", "json"))
    assert [one["slug"] for one in near["items"]] == ["title-two"]


def test_what_is_not_embedded_yet_is_found_by_its_words_and_marked(articles: Articles):
    articles("add", "--title", "Water wheels", text="They turn slowly.")
    found = data(articles("search", "wheels", "-o", "json"))
    assert found["mode"] == "keyword"
    assert found["notice"]
    hit = found["items"][0]
    assert (hit["slug"], hit["chip"], hit["score"]["semantic_rank"]) == ("water-wheels", "waiting", None)
    assert found["coverage"]["pending"] == 1
    told = articles("search", "turn")
    assert "waiting" in told.stdout
    assert "penstock: warning:" in told.stderr


def test_ctrl_c_leaves_what_is_stored_and_the_next_import_goes_on(
    articles: Articles, start: Start, database_url: str, tmp_path: Path
):
    file = tmp_path / "many.csv"
    file.write_text("title,content\n" + "".join(f"Title {n},{'word ' * 60}\n" for n in range(20_000)))
    running = start("articles", "import", str(file), "--skip-embedding", app=APP, database_url=database_url)
    stored = lambda: data(articles("coverage", "-o", "json"))["total"] > 0  # noqa: E731
    wait_until(stored, what="the first batch", log=lambda: running.stderr)
    running.interrupt()
    assert running.ended() == 130, running.stderr
    assert "articles are stored. The same command again goes on" in running.stderr
    count = data(articles("coverage", "-o", "json"))["total"]
    assert 0 < count < 20_000
    done = data(articles("import", str(file), "--skip-embedding", "-o", "json"))
    assert (done["created"], done["unchanged"], done["job_id"]) == (20_000 - count, count, None)


def test_an_edit_of_an_old_revision_is_refused_with_the_newer_one(articles: Articles):
    articles("add", "--title", "Dams", text="one")
    assert articles("edit", "dams", "-", "--revision", "1", text="two").returncode == 0
    late = articles("edit", "dams", "-", "--revision", "1", text="three")
    assert (late.returncode, "the current one is 2" in late.stderr) == (4, True)
    assert "two" in articles("show", "dams").stdout


def test_others_read_what_is_shared_and_change_nothing(articles: Articles):
    articles("add", "--title", "Dams", "--shared", text="one")
    articles("add", "--title", "Secret", text="one")
    assert articles("show", "dams", "--owner", "ann").returncode == 0
    assert articles("show", "secret", "--owner", "ann").returncode == 3
    for arguments in (("edit", "dams", "-"), ("delete", "dams", "--yes")):
        refused = articles(*arguments, "--owner", "ann", text="x")
        assert (refused.returncode, "belongs to admin" in refused.stderr) == (4, True), refused.stderr
    hidden = articles("edit", "dams", "--private")
    assert hidden.stdout == "The text of dams is as it was; it is private.\n"
    assert articles("show", "dams", "--owner", "ann").returncode == 3


def test_a_wrong_call_is_told_in_a_sentence(articles: Articles):
    for arguments, code, told in (
        (("show", "nothing"), 3, "no article 'nothing'"),
        (("edit", "nothing", "-"), 3, "no article 'nothing'"),
        (("delete", "nothing", "--yes"), 3, "no article 'nothing'"),
        (("revisions", "nothing"), 3, "no article 'nothing'"),
        (("similar", "nothing"), 3, "no article 'nothing'"),
        (("search", " "), 2, "query is empty"),
        (("search", "x" * 10_000), 2, "10,000 characters"),
        (("search", "x", "--mode", "magic"), 2, "Use hybrid, semantic, keyword"),
        (("search", "x", "--since", "soon"), 2, "is no time"),
        (("import", "/nowhere/at/all"), 2, "is not there"),
        (("import", "/dev/null"), 2, "nothing that can be imported"),
        (("import", ".", "--owner", "nobody"), 3, "no user 'nobody'"),
        (("add", "/nowhere.md"), 2, "cannot be read"),
        (("add", "--title", " "), 2, "title is empty"),
        (("add", "--title", "a", "--priority", "huge"), 2, "use high, normal, low"),
    ):
        done = articles(*arguments, text="text")
        assert (done.returncode, told in done.stderr) == (code, True), f"{arguments}: {done.stderr}"
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


def test_the_line_of_an_import_tells_share_rate_and_time():
    now = [0.0]
    line = ImportLine(io.StringIO(), None, clock=lambda: now[0])
    line.update(0)
    now[0], line.share = 10.0, 0.25
    line.update(1000, failed=3)
    assert line.line(1000, 3) == "1,000 articles 25 % 100/s ETA 30s · 3 refused"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stdout", "marked"), [(Terminal(), True), (io.StringIO(), False)])
def test_marks_are_coloured_on_a_terminal_and_nothing_stored_moves_the_cursor(
    stdout: io.StringIO, marked: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    session, at = Session(Options()), datetime(2026, 11, 15, tzinfo=UTC)
    session.out = Output(stdout=stdout, stderr=io.StringIO())
    hit = Hit(
        slug="weirs",
        title="Weirs\x1b[2J",
        author="ann",
        visibility=Visibility.SHARED,
        updated_at=at,
        chip="stale",
        stale=True,
        score=Score(fused=0.5, semantic=SemanticScore(rank=1, similarity=0.71), keyword=None),
        passage=ShownPassage(text="\x1b[2J a weir\nraises water", marks=[Mark(from_=7, to=11)], starts=0, revision=1),
    )
    coverage = Coverage(indexed=1, stale=0, pending=0, total=1, generation="first", as_of=at)
    answer = Answer(mode="hybrid", asked_mode="hybrid", notice=None, hits=[hit], next=None, coverage=coverage)
    articles_search._show(session, answer, explain=True, first=1, nothing="")
    printed = stdout.getvalue()
    assert ("\x1b[1;33mweir\x1b[0m" in printed) is marked
    assert "\x1b[2J" not in printed
    assert "stale" in printed
    assert "similarity 0.710" in printed
    if not marked:
        assert "\\x1b[2J a weir raises water" in printed
        assert "\x1b" not in printed
