"""`penstock articles edit`, `restore`, `show --text`, `list`: changing an article by accident, and getting it back."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, environment
from tests.cli.test_articles_cli import APP, Articles, articles, data

__all__ = ["articles"]


@pytest.fixture
def weirs(articles: Articles) -> Articles:
    """With one article, at revision 1."""
    articles("add", "-", "--title", "Weirs", text="A weir raises the water.")
    return articles


def content(articles: Articles, slug: str = "weirs") -> str:
    return articles("show", slug, "--text").stdout


@pytest.mark.parametrize("text", ["", "what a pipe held"])
def test_without_a_file_an_edit_reads_no_standard_input(weirs: Articles, text: str):
    refused = weirs("edit", "weirs", text=text)
    assert (refused.returncode, "Nobody can be asked here" in refused.stderr) == (2, True), refused.stderr
    noted = weirs("edit", "weirs", "-m", "a note", text=text)
    assert noted.returncode == 0, noted.stderr
    assert "Nothing changed: the text of weirs is as it was, revision 1. The message belongs to" in noted.stdout
    renamed = weirs("edit", "weirs", "--title", "Dams", "-m", "renamed", text=text)
    assert "weirs is saved as revision 2" in renamed.stdout, renamed.stderr
    assert content(weirs) == "A weir raises the water."


def test_an_empty_text_empties_nothing(weirs: Articles, tmp_path: Path):
    empty = tmp_path / "empty.md"
    empty.write_text(" \n\n")
    heading = tmp_path / "heading.md"
    heading.write_text("# Only a heading\n")
    for arguments in (
        ("edit", "weirs", "-"),
        ("edit", "weirs", str(empty)),
        ("add", "-"),
        ("add", "--title", "Gates"),
        ("add", str(empty), "--title", "Gates"),
        ("add", str(empty)),
        ("add", str(heading)),
    ):
        refused = weirs(*arguments)
        assert (refused.returncode, "There is no text in it" in refused.stderr) == (2, True), f"{arguments} {refused}"
    assert content(weirs) == "A weir raises the water."
    assert [one["slug"] for one in data(weirs("list", "-o", "json"))["items"]] == ["weirs"]


def on_a_terminal(database_url: str, editor: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Standard input is a terminal, and the editor is a program."""
    ours, theirs = pty.openpty()
    try:
        return subprocess.run(
            [sys.executable, "-m", "penstock.cli", "articles", *arguments],
            env=environment(PENSTOCK_APP=APP, PENSTOCK_DATABASE_URL=database_url, EDITOR=editor, VISUAL=""),
            cwd=ROOT,
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)


def test_on_a_terminal_the_editor_opens_and_what_it_leaves_is_saved(weirs: Articles, database_url: str, tmp_path: Path):
    def editor(body: str) -> str:
        path = tmp_path / "editor.sh"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o700)
        return str(path)

    untouched = on_a_terminal(database_url, editor(":"), "edit", "weirs", "-m", "why")
    assert "Nothing changed" in untouched.stdout, untouched.stderr
    emptied = on_a_terminal(database_url, editor(': > "$1"'), "edit", "weirs")
    assert (emptied.returncode, "left empty" in emptied.stderr) == (2, True)
    changed = on_a_terminal(database_url, editor('echo "More." >> "$1"'), "edit", "weirs", "-m", "why")
    assert "saved as revision 2" in changed.stdout, changed.stderr
    assert "More." in content(weirs)
    missing = on_a_terminal(database_url, "/nowhere/editor", "edit", "weirs")
    assert (missing.returncode, "name a FILE that has the new text" in missing.stderr) == (2, True)
    assert "--input" not in missing.stderr


def test_an_earlier_text_is_printed_bare_and_restored_as_a_new_revision(weirs: Articles):
    weirs("edit", "weirs", "-", "--title", "Dams", text="A dam.\n")
    assert weirs("show", "weirs", "--text", "-q").stdout == "A dam.\n"
    assert weirs("show", "weirs", "--text", "--revision", "1").stdout == "A weir raises the water."
    assert "weirs is saved as revision 3" in weirs("restore", "weirs", "1").stdout
    shown = data(weirs("show", "weirs", "-o", "json"))
    assert (shown["title"], shown["content"], shown["message"]) == (
        "Weirs",
        "A weir raises the water.",
        "restored from revision 1",
    )
    assert "Nothing changed" in weirs("restore", "weirs", "3").stdout
    assert weirs("restore", "weirs", "9").returncode == 3
    # As a filter, and back: nothing is added or lost on the way.
    assert "Nothing changed" in weirs("edit", "weirs", "-", text=content(weirs)).stdout


def test_a_number_finds_its_article_where_no_slug_is_like_it(weirs: Articles):
    number = data(weirs("list", "-o", "json"))["items"][0]["id"]
    assert data(weirs("show", str(number), "-o", "json"))["slug"] == "weirs"
    weirs("add", "-", "--title", str(number), text="Its title is a number.")
    assert data(weirs("show", str(number), "-o", "json"))["slug"] == str(number)
    assert weirs("show", "9" * 30).returncode == 3


def test_articles_are_listed_page_by_page_as_their_viewer_may_see_them(weirs: Articles):
    weirs("add", "-", "--title", "Gates", "--shared", text="x")
    weirs("add", "-", "--title", "Locks", "--owner", "ann", text="x")
    first = data(weirs("list", "--limit", "2", "-o", "json"))
    assert [(one["slug"], one["chip"]) for one in first["items"]] == [("locks", "waiting"), ("gates", "waiting")]
    rest = data(weirs("list", "--limit", "2", "--after", first["next"], "-o", "json"))
    assert ([one["slug"] for one in rest["items"]], rest["next"]) == (["weirs"], None)
    assert [one["slug"] for one in data(weirs("list", "--owner", "ann", "-o", "json"))["items"]] == ["locks", "gates"]
    assert [one["slug"] for one in data(weirs("list", "--author", "ann", "-o", "json"))["items"]] == ["locks"]
    table = weirs("list").stdout
    assert "waiting" in table and "Locks" in table
    assert "no user 'bob'" in weirs("list", "--author", "bob").stderr
    assert weirs("list", "--after", "4").returncode == 2


def test_others_do_not_read_what_an_article_said_before_it_was_shared(weirs: Articles):
    weirs("edit", "weirs", "-", "--shared", text="For everybody.")
    assert weirs("show", "weirs", "--text", "--owner", "ann").stdout == "For everybody."
    for more in ((), ("--text",)):
        assert weirs("show", "weirs", "--revision", "1", "--owner", "ann", *more).returncode == 3
    listed = data(weirs("revisions", "weirs", "--owner", "ann", "-o", "json"))
    assert [one["revision"] for one in listed["items"]] == [2]
    assert weirs("show", "weirs", "--revision", "1", "--owner", "admin").returncode == 0
