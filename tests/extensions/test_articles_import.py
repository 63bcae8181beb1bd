"""Importing articles: what is read of files, what is refused, and that importing again goes on."""

import asyncio
import os
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.config import load
from penstock.console.files.refused import FileRefused
from penstock.errors import UsageError
from penstock.extensions import articles
from penstock.extensions.articles import import_csv
from penstock.extensions.articles.articles import Visibility
from penstock.extensions.articles.drafts import EMPTY, Draft, Entries, Refusal, parse, read_folder, read_zip
from penstock.extensions.articles.importing import Imported, import_path
from penstock.extensions.articles.shared import ArticleSearch
from penstock.insight import job_views
from penstock.model import Priority, priority_number

MOST_BYTES = 4000


@pytest.fixture
async def search(database_url: str) -> AsyncIterator[ArticleSearch]:
    app = Penstock("articles", settings=load(database_url=database_url, articles_max_characters=1000))
    made = articles.install(app)
    async with app:
        yield made
        await made.close()


def drafts(entries: Entries) -> dict[str, Draft]:
    return {entry.found.source: entry.found for entry in entries if isinstance(entry.found, Draft)}


def refusals(entries: Entries) -> dict[str, str]:
    return {entry.found.where: entry.found.why for entry in entries if isinstance(entry.found, Refusal)}


def zipped(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


async def rows(search: ArticleSearch, query: str) -> list[tuple[Any, ...]]:
    async with search.app.connection() as connection:
        return [tuple(row) for row in await connection.fetch(query)]


# ---------------------------------------------------------------- Markdown


@pytest.mark.parametrize(
    ("text", "title", "content"),
    [
        ("# Pumps\n\nThey move water.\n", "Pumps", "They move water."),
        ("Some words first.\n\n# Pumps #\nThey move water.", "Pumps", "Some words first.\n\nThey move water."),
        ("Pumps\n=====\nThey move water.", "Pumps", "They move water."),
        ("# The [pump](https://pump.example) **book** of `gate`\ntext", "The pump book of gate", "text"),
        ("## Only a smaller heading\ntext", None, "## Only a smaller heading\ntext"),
        ("#hashtag is no heading\ntext", None, "#hashtag is no heading\ntext"),
        ("```\n# a remark in code\n```\n\n# Real\ntext", "Real", "```\n# a remark in code\n```\n\ntext"),
        ("~~~\n```\n# still code\n~~~\n# Real\ntext", "Real", "~~~\n```\n# still code\n~~~\n\ntext"),
        ("---\ntitle: Valves\ndate: 2026-01-01\n---\ntext", "Valves", "text"),
        ('---\ntags: [a]\ntitle: "Valves: all of them" # remark\n---\n# Valves: all of them\ntext', None, None),
        ("---\ntitle: Valves\n---\n# Another heading\ntext", "Valves", "# Another heading\ntext"),
        ("---\ndate: 2026-01-01\n---\n# Pumps\ntext", "Pumps", "text"),
        ("---\ntitle: >\n  folded\n---\n# Pumps\ntext", "Pumps", "text"),
        ("---\nA rule at the top, never closed.\n# Pumps\n", "Pumps", "---\nA rule at the top, never closed."),
        ("\ufeff# Pumps\r\ntext\r\n", "Pumps", "text"),
        ("- a\n===\ntext", None, "- a\n===\ntext"),
        ("", None, ""),
    ],
)
def test_a_markdown_file_names_its_title_in_front_matter_or_its_first_heading(
    text: str, title: str | None, content: str | None
):
    found = parse(text)
    if content is None:
        title, content = "Valves: all of them", "text"
    assert (found.title, found.content) == (title, content)


def test_a_long_text_without_a_heading_is_read_in_time():
    assert parse("word _*`[ " * 100_000).title is None
    assert parse("---\n" + "a: b\n" * 200_000).title is None


# ---------------------------------------------------------------- folders


def test_a_folder_is_read_deeply_without_what_is_hidden_or_leads_out(tmp_path: Path):
    folder, outside = tmp_path / "notes", tmp_path / "outside"
    (folder / "deep" / ".git").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret")
    (folder / "a.md").write_text("# Pumps\ntext")
    (folder / "deep" / "b.MARKDOWN").write_bytes("Grüße aus der Mühle, schöne Häuser".encode("cp1252"))
    for name in (".hidden.md", "deep/.git/c.md", "picture.png"):
        (folder / name).write_text("# Left alone")
    (folder / "out.md").symlink_to(outside / "secret.md")
    (folder / "there").symlink_to(outside)
    (folder / "broken.md").symlink_to(folder / "nowhere.md")
    (folder / "inside.md").symlink_to(folder / "a.md")
    found = drafts(read_folder(folder, source="notes", most_bytes=MOST_BYTES))
    assert {source: draft.title for source, draft in found.items()} == {
        "notes/a.md": "Pumps",
        "notes/deep/b.MARKDOWN": "b",
        "notes/inside.md": "Pumps",
    }
    assert found["notes/deep/b.MARKDOWN"].content.startswith("Grüße aus der Mühle")


def test_files_that_cannot_be_taken_are_refused_and_the_rest_is_read(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "binary.md").write_bytes(b"\x00\xff\xfe\x01" * 50)
    (tmp_path / "long.md").write_bytes(b"x" * (MOST_BYTES + 1))
    (tmp_path / "cut.md").write_bytes(b"\xff\xfeab\x00")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).touch()
    (tmp_path / "good.md").write_text("text")
    refused = refusals(read_folder(tmp_path, source="notes", most_bytes=MOST_BYTES))
    assert {where: why.split(".")[0] for where, why in refused.items()} == {
        "pipe.md": "It is no plain file",
        "binary.md": "The file holds NUL bytes, so it is not text",
        "long.md": "It has more than 4,000 bytes",
        "cut.md": "Byte 4 is not utf-16-le, which the bytes before it are",
        "'\\udcff.md'": "Its name is not UTF-8",
    }
    assert [one.title for one in drafts(read_folder(tmp_path, source="notes", most_bytes=MOST_BYTES)).values()] == [
        "good"
    ]


def test_a_folder_that_cannot_be_read_is_refused_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("closed", "open"):
        folder_of(tmp_path / name, {"a.md": "text"})
    listing = os.scandir

    def refusing(path: Any) -> Any:
        """Rights mean nothing to root, who may run the tests."""
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = list(read_folder(tmp_path, source="notes", most_bytes=MOST_BYTES))
    assert [entry.found.where for entry in found] == ["open/a.md", "closed"]
    assert isinstance(found[1].found, Refusal)
    assert found[1].found.why == "The folder cannot be read: Permission denied."


def test_a_folder_without_markdown_is_refused(tmp_path: Path):
    with pytest.raises(FileRefused, match="no Markdown file"):
        next(read_folder(tmp_path, source="notes", most_bytes=MOST_BYTES))


# ---------------------------------------------------------------- CSV


def csv_of(path: Path, text: str, encoding: str = "utf-8") -> Entries:
    path.write_bytes(text.encode(encoding))
    return import_csv.read(path, source=path.name, most_bytes=MOST_BYTES)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_csv_is_read_whatever_its_delimiter_and_encoding(tmp_path: Path, delimiter: str, encoding: str):
    lines = (
        ("Id", "Title", "Body", "Message", "Visibility"),
        ("7", "Mühle", '"Über\nzwei Zeilen, schöne Grüße"', "first", "Shared"),
        ("8", "Wehr", "Für die Mühlen fließt es über das Wehr und wenn der Müller es öffnet.", "", ""),
    )
    text = "\r\n".join(delimiter.join(cells) for cells in lines) + "\r\n"
    found = drafts(csv_of(tmp_path / "a.csv", text, encoding))
    assert [(one.title, one.message, one.visibility) for one in found.values()] == [
        ("Mühle", "first", Visibility.SHARED),
        ("Wehr", None, None),
    ]
    assert list(found) == ["a.csv#7", "a.csv#8"]
    assert found["a.csv#7"].content == "Über\nzwei Zeilen, schöne Grüße"


def test_rows_of_a_csv_that_cannot_be_taken_are_named(tmp_path: Path):
    text = "title,content,source,visibility\na,x,1,\nb,x,1,\nc,x,2,secret\nd,x,3,private\n"
    refused = refusals(csv_of(tmp_path / "a.csv", text))
    assert refused == {
        "row 2": "A row before it has the source '1', too. Give it another one.",
        "row 3": "Its visibility is 'secret'. Use private or shared, or nothing.",
    }


def test_a_csv_whose_rows_end_nowhere_keeps_those_before(tmp_path: Path):
    text = 'title,content\na,x\nb,"' + "never closed\n" * 200_000
    entries = list(csv_of(tmp_path / "a.csv", text))
    assert [entry.found.where for entry in entries] == ["row 1", "row 2"]
    last = entries[-1].found
    assert isinstance(last, Refusal)
    assert "quoted cell" in last.why
    assert "The rest of the file was not read." in last.why


def test_rows_without_a_source_are_told_apart_by_title_and_count(tmp_path: Path):
    found = drafts(csv_of(tmp_path / "a.csv", "title,text\nsame,x\nother,x\nsame,y\n"))
    assert list(found) == ["a.csv#same", "a.csv#other", "a.csv#same (2)"]


def test_a_first_row_with_a_long_text_is_a_row(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text(f"title,content\na,{'x' * 200_000}\n")
    assert len(drafts(import_csv.read(path, source="a.csv", most_bytes=1_000_000))["a.csv#a"].content) == 200_000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,content\na,b\n", "no column is called title; the columns are name, content"),
        ("title,words\na,b\n", "no column is called content or text or body"),
        ("title,content\n", "a header and no rows"),
        ("title\0,content\na,b\n", "NUL"),
    ],
)
def test_a_csv_without_articles_says_what_is_missing(tmp_path: Path, text: str, told: str):
    with pytest.raises(FileRefused, match=told):
        next(csv_of(tmp_path / "a.csv", text))


# ---------------------------------------------------------------- archives


def test_a_zip_of_markdown_is_read_without_what_is_hidden(tmp_path: Path):
    files: dict[str, str | bytes] = {
        "notes/a.md": "# Pumps\ntext",
        "notes/.b.md": "# Hidden",
        "__MACOSX/a.md": "# Left over",
        "notes/c.png": b"\x89PNG",
        "notes/long.md": "x" * (MOST_BYTES + 1),
    }
    path = zipped(tmp_path / "a.zip", files)
    assert {
        source: one.title for source, one in drafts(read_zip(path, source="a.zip", most_bytes=MOST_BYTES)).items()
    } == {"a.zip/notes/a.md": "Pumps"}
    assert list(refusals(read_zip(path, source="a.zip", most_bytes=MOST_BYTES))) == ["notes/long.md"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"../a.md": "x"}, "points outside"),
        ({"/a.md": "x"}, "points outside"),
        ({"a.txt": "x"}, "no Markdown file"),
        ({f"{n}.md": "x" for n in range(4)}, "4 entries; at most 3"),
        ({"a.md": "0" * 20_000_000}, "times its size|unpacks to"),
    ],
)
def test_an_archive_that_is_no_honest_one_is_refused(tmp_path: Path, files: dict[str, str | bytes], told: str):
    with pytest.raises(FileRefused, match=told):
        list(read_zip(zipped(tmp_path / "a.zip", files), source="a.zip", most_bytes=MOST_BYTES, most_entries=3))


def test_an_archive_that_lies_about_its_sizes_gives_no_more_than_it_declares(tmp_path: Path):
    path = zipped(tmp_path / "a.zip", {f"{n}.md": "long " * 100 for n in range(5)})
    data = bytearray(path.read_bytes())
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 24 : place + 28] = (10).to_bytes(4, "little")
        place = data.find(b"PK\x01\x02", place + 4)
    path.write_bytes(data)
    found = list(read_zip(path, source="a.zip", most_bytes=MOST_BYTES, total_bytes=1000))
    assert [type(entry.found) for entry in found] == [Refusal] * 5


def test_one_damaged_entry_of_an_archive_costs_only_itself(tmp_path: Path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.md", "# Damaged one")
        archive.writestr("b.md", "# Whole one")
    path.write_bytes(path.read_bytes().replace(b"Damaged", b"Damagxx", 1))
    assert [one.title for one in drafts(read_zip(path, source="a.zip", most_bytes=MOST_BYTES)).values()] == [
        "Whole one"
    ]
    assert "damaged" in refusals(read_zip(path, source="a.zip", most_bytes=MOST_BYTES))["a.md"]


# ---------------------------------------------------------------- storing


def folder_of(path: Path, texts: dict[str, str]) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in texts.items():
        (path / name).write_text(text)
    return path


async def test_importing_again_updates_what_differs_and_leaves_the_rest(search: ArticleSearch, tmp_path: Path):
    folder = folder_of(tmp_path / "notes", {"a.md": "# Pumps\nold", "b.md": "# Valves\ntext", "named.md": "text"})
    first = await import_path(search, folder, owner="ann", visibility=Visibility.SHARED)
    assert (first.created, first.updated, first.unchanged, first.refused_count) == (3, 0, 0, 0)
    folder_of(folder, {"a.md": "# Pumps\nnew", "c.md": "# Gates\ntext"})
    second = await import_path(search, folder, owner="ann")
    assert (second.created, second.updated, second.unchanged) == (1, 1, 2)
    stored = await rows(
        search, "select source, title, revision, owner, visibility from article_search.articles order by 1"
    )
    assert stored == [
        (f"{folder}/a.md", "Pumps", 2, "ann", "shared"),
        (f"{folder}/b.md", "Valves", 1, "ann", "shared"),
        (f"{folder}/c.md", "Gates", 1, "ann", "private"),
        (f"{folder}/named.md", "named", 1, "ann", "shared"),
    ]


async def sources(search: ArticleSearch) -> list[str]:
    return [source for (source,) in await rows(search, "select source from article_search.articles order by id")]


async def test_two_imports_of_one_owner_do_not_overwrite_each_other(search: ArticleSearch, tmp_path: Path):
    """Rows, entries and files of the same name are other articles where they come from another file or folder."""
    for folder in ("one", "two"):
        (tmp_path / folder / "notes").mkdir(parents=True)
        folder_of(tmp_path / folder / "notes", {"README.md": f"# Readme\n{folder}"})
        (tmp_path / f"{folder}.csv").write_text(f"id,title,content\n7,Seven,{folder}\n")
        zipped(tmp_path / f"{folder}.zip", {"README.md": f"# Readme\n{folder}"})
    for folder in ("one", "two"):
        for path in (tmp_path / folder / "notes", tmp_path / f"{folder}.csv", tmp_path / f"{folder}.zip"):
            done = await import_path(search, path, owner="ann")
            assert (done.created, done.updated) == (1, 0), path
    assert await sources(search) == [
        f"{tmp_path}/one/notes/README.md",
        "one.csv#7",
        "one.zip/README.md",
        f"{tmp_path}/two/notes/README.md",
        "two.csv#7",
        "two.zip/README.md",
    ]
    # One file of a folder is the article that the whole folder brought.
    alone = await import_path(search, tmp_path / "one" / "notes" / "README.md", owner="ann")
    assert alone.unchanged == 1


async def test_a_source_that_is_named_stands_for_the_place(search: ArticleSearch, tmp_path: Path):
    folder = folder_of(tmp_path / "notes", {"a.md": "# A\ntext"})
    (tmp_path / "a.csv").write_text("id,url,title,content\n7,,Seven,x\n,https://example.com/8,Eight,x\n,,Nine,x\n")
    for path, name in (
        (folder, None),
        (folder / "a.md", None),
        (tmp_path / "a.csv", None),
        (zipped(tmp_path / "a.zip", {"deep/b.md": "text"}), None),
        (folder / "a.md", "sent.md"),
    ):
        await import_path(search, path, owner="ann", name=name, source="handbook/")
    assert await sources(search) == [
        "handbook/a.md",
        "handbook#7",
        "https://example.com/8",
        "handbook#Nine",
        "handbook/deep/b.md",
        "handbook/sent.md",
    ]
    await import_path(search, folder / "a.md", owner="ben", name="sent.md")
    assert (await sources(search))[-1] == "sent.md"
    for bad in ("", " / ", "x" * 201, "a\nb"):
        with pytest.raises(UsageError, match="will not do"):
            await import_path(search, folder, owner="ann", source=bad)


async def test_what_has_no_text_is_refused_with_the_reason(search: ArticleSearch, tmp_path: Path):
    folder = folder_of(tmp_path / "notes", {"a.md": "", "b.md": "# Only a title\n", "c.md": "---\ntitle: x\n---\n \n"})
    folder_of(folder, {"good.md": "text"})
    (tmp_path / "a.csv").write_text("title,content\nempty,\ngood,text\n")
    done = await import_path(search, folder, owner="ann")
    assert ([one.where for one in done.refused], done.created) == (["a.md", "b.md", "c.md"], 1)
    assert {one.why for one in done.refused} == {EMPTY}
    assert (await import_path(search, tmp_path / "a.csv", owner="ann")).refused == (Refusal(where="row 1", why=EMPTY),)


async def test_two_owners_import_the_same_folder_without_touching_each_other(search: ArticleSearch, tmp_path: Path):
    folder = folder_of(tmp_path / "notes", {"a.md": "# Pumps\ntext"})
    for owner in ("ann", "ben"):
        assert (await import_path(search, folder, owner=owner)).created == 1
    assert len(await rows(search, "select 1 from article_search.articles")) == 2


async def test_the_embeddings_of_an_import_are_one_job_of_low_priority(search: ArticleSearch, tmp_path: Path):
    done = await import_path(search, folder_of(tmp_path / "notes", {f"{n}.md": "text" for n in range(5)}), owner="ann")
    assert done.job_id is not None
    async with search.app.connection() as connection:
        job = (await job_views.show(connection, done.job_id)).job
    assert (job.name, job.owner, job.pipeline, job.counts.total) == ("Import of notes", "ann", "articles", 5)
    lanes = await rows(search, "select priority from penstock.lanes where job_id is not null")
    assert lanes == [(priority_number(Priority.LOW),)]
    tied = await rows(
        search, "select count(*) from article_search.revisions r join penstock.tasks t on t.id = r.task_id"
    )
    assert tied == [(5,)]


async def test_an_import_that_changes_nothing_leaves_no_job(search: ArticleSearch, tmp_path: Path):
    folder = folder_of(tmp_path / "notes", {"a.md": "text"})
    await import_path(search, folder, owner="ann")
    again = await import_path(search, folder, owner="ann")
    skipped = await import_path(search, folder_of(tmp_path / "more", {"a.md": "x"}), owner="ann", skip_embedding=True)
    assert (again.job_id, again.unchanged, skipped.job_id, skipped.created) == (None, 1, None, 1)
    assert len(await rows(search, "select 1 from penstock.jobs")) == 1
    assert len(await rows(search, "select 1 from penstock.tasks")) == 1


async def test_what_cannot_be_stored_is_refused_with_its_place_and_the_rest_is_stored(
    search: ArticleSearch, tmp_path: Path
):
    path = tmp_path / "a.csv"
    path.write_text(f"title,content,message\n,no title,\nlong,{'x' * 1001},\ngood,text,why\n{'t' * 301},x,\nlast,x,\n")
    done = await import_path(search, path, owner="ann")
    assert (done.created, done.refused_count) == (2, 3)
    assert [(one.where, one.why.split(";")[0]) for one in done.refused] == [
        ("row 1", "The title is empty"),
        ("row 2", "The text has 1,001 characters"),
        ("row 4", "The title has 301 characters"),
    ]


async def test_ten_thousand_identical_titles_are_as_many_articles(search: ArticleSearch, tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("title,content\n" + "".join(f"same,text {n}\n" for n in range(10_000)))
    assert (await import_path(search, path, owner="ann", skip_embedding=True)).created == 10_000
    assert await rows(search, "select count(distinct slug) from article_search.articles") == [(10_000,)]
    assert (await import_path(search, path, owner="ann", skip_embedding=True)).unchanged == 10_000


async def test_an_import_that_is_interrupted_goes_on_when_it_is_run_again(search: ArticleSearch, tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("title,content\n" + "".join(f"title {n},text\n" for n in range(3000)))
    stored = asyncio.Event()
    running = asyncio.create_task(import_path(search, path, owner="ann", told=lambda so_far: stored.set()))
    await asyncio.wait_for(stored.wait(), 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    count = (await rows(search, "select count(*) from article_search.articles"))[0][0]
    assert 0 < count < 3000
    again = await import_path(search, path, owner="ann")
    assert (again.created, again.unchanged) == (3000 - count, count)
    assert await rows(search, "select count(*), count(distinct job_id) from penstock.tasks") == [(3000, 2)]


async def test_a_broken_archive_keeps_what_was_read_before(search: ArticleSearch, tmp_path: Path):
    path = zipped(tmp_path / "a.zip", {f"notes/{n}.md": f"# Title {n}\ntext" for n in range(3)})
    done = await import_path(search, path, owner="ann", name="upload.zip")
    assert (done.created, done.refused) == (3, ())
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileRefused, match="damaged or cut off"):
        await import_path(search, path, owner="ann")


async def test_progress_is_told_batch_by_batch_up_to_the_whole(search: ArticleSearch, tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("title,content\n" + "".join(f"title {n},{'x' * 500}\n" for n in range(2000)))
    heard: list[Imported] = []
    await import_path(search, path, owner="ann", skip_embedding=True, told=heard.append)
    assert len(heard) > 1
    assert [one.stored for one in heard] == sorted(one.stored for one in heard)
    assert 0 < heard[0].share < 1
    assert (heard[-1].stored, heard[-1].share) == (2000, 1.0)


@pytest.mark.parametrize("name", ["nothing.md", "picture.png"])
async def test_what_is_no_import_is_refused_before_anything_is_stored(search: ArticleSearch, tmp_path: Path, name: str):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(FileRefused, match="Name a folder of Markdown files"):
        await import_path(search, tmp_path / name, owner="ann")
