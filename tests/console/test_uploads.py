"""A look at a file before it is sent: the same readers as the import, in bounds, and nothing stored."""

import io
import zipfile
import zlib
from typing import Any

import pytest
import xlsxwriter

from tests.console.conftest import Service

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


async def preview(service: Service, data: bytes, name: str = "list.csv", status: int = 200, **fields: str) -> Any:
    ann = await service.client("ann")
    answer = await ann.post("/api/uploads/preview", files={"file": (name, data)}, data=fields)
    assert answer.status_code == status, answer.text
    return answer.json()


def sentences(body: Any) -> list[tuple[int | None, str]]:
    return [(one["row"], one["sentence"]) for one in body["problems"]]


async def test_a_table_is_shown_with_how_it_is_written_and_what_its_columns_mean(service: Service) -> None:
    data = "Titel;Marke;EAN\nLampe Größe 5;Alder;4006381333931\n".encode("cp1252")
    body = await preview(service, data, pipeline="catalogue")
    assert body["kind"] == "csv"
    assert body["encoding"].startswith("cp125")
    assert body["delimiter"] == ";"
    assert body["hasHeader"] is True
    assert [(one["name"], one["role"]) for one in body["columns"]] == [
        ("Titel", "title"),
        ("Marke", "brand"),
        ("EAN", "gtin"),
    ]
    assert body["rows"] == [["Lampe Größe 5", "Alder", "4006381333931"]]
    assert (body["rowsEstimate"], body["rowsExact"], body["whole"]) == (1, True, True)
    assert body["problems"] == []


async def test_rows_that_cannot_be_used_are_named_with_their_column(service: Service) -> None:
    data = b"title,gtin,price\nLamp,123,5\n,,\nKettle,4006381333931\nDrill,,cheap,more\n"
    body = await preview(service, data, pipeline="catalogue")
    found = [(one["row"], one["column"], one["blocks"]) for one in body["problems"]]
    assert found == [(1, "gtin", False), (2, None, False), (3, None, False), (4, None, False), (4, "price", False)]
    told = dict(sentences(body))
    assert "would be skipped" in told[2]
    assert "2 cells" in told[3]
    assert any(row == 4 and "4 cells" in text for row, text in sentences(body))


async def test_a_role_given_by_hand_counts_and_none_takes_it_away(service: Service) -> None:
    data = b"name,number\nLamp,A-1\n"
    options = '{"roles": {"sku": "number", "title": null}}'
    body = await preview(service, data, pipeline="catalogue", options=options)
    assert [one["role"] for one in body["columns"]] == [None, "sku"]
    wrong = await preview(service, data, pipeline="catalogue", options='{"roles": {"title": "nowhere"}}')
    assert wrong["problems"][0]["blocks"]
    assert "nowhere" in wrong["problems"][0]["sentence"]


async def test_a_file_of_which_no_column_is_known_says_what_to_do(service: Service) -> None:
    body = await preview(service, b"aa,bb\nx,y\n", pipeline="catalogue")
    assert body["problems"][0]["blocks"]
    assert "which column is which" in body["problems"][0]["sentence"]
    bare = await preview(service, b"4006381333931;Pen\n4006381333948;Lamp\n", pipeline="catalogue")
    assert "first row was read as data" in bare["problems"][0]["sentence"]


async def test_a_broken_file_still_says_what_its_columns_are(service: Service) -> None:
    body = await preview(service, b'ean,title,remark\n4006381333931,"Pen,x\n', pipeline="catalogue")
    assert [column["role"] for column in body["columns"]] == ["gtin", "title", None]
    (problem,) = body["problems"]
    assert (problem["blocks"], "not closed" in problem["sentence"]) == (True, True)


async def test_a_row_that_is_too_short_is_told_in_words_that_count(service: Service) -> None:
    body = await preview(service, b"title,sku\nLamp\nPen,A-1\n", pipeline="catalogue")
    assert body["problems"][0]["sentence"].startswith("it has 1 cell, the file 2 columns.")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"title,title\nLamp,x\n", "both called"),
        (b"%PDF-1.7 x", "is a PDF"),
        (b"", "empty"),
        (b'title,sku\n"Lamp,1\nKettle,2\n', "not closed"),
        (b"title,sku\nLamp\0,2\n", "NUL"),
    ],
)
async def test_what_would_be_refused_is_told_before_it_is_sent(service: Service, data: bytes, words: str) -> None:
    body = await preview(service, data, pipeline="catalogue")
    blocking = [one["sentence"] for one in body["problems"] if one["blocks"]]
    assert any(words in one for one in blocking), body["problems"]
    ann = await service.client("ann")
    sent = await ann.post("/api/jobs", files={"file": ("list.csv", data)}, data={"pipeline": "catalogue"})
    assert sent.status_code == 400, sent.text


@pytest.mark.parametrize("encoding", ["zlib_codec", "punycode", "rot13", "undefined", "\0"])
async def test_what_is_no_encoding_of_text_is_refused_by_a_look_and_by_a_submission(
    service: Service, encoding: str
) -> None:
    data = zlib.compress(b"title,sku\nLamp,2\n")
    body = await preview(service, data, encoding=encoding)
    assert "No encoding is called" in body["problems"][0]["sentence"]
    ann = await service.client("ann")
    fields = {"pipeline": "catalogue", "encoding": encoding}
    answer = await ann.post("/api/jobs", files={"file": ("list.csv", data)}, data=fields)
    assert answer.status_code == 400, answer.text
    assert "o encoding is called" in answer.json()["detail"]


async def test_headings_that_will_not_do_are_shown_as_a_row(service: Service) -> None:
    body = await preview(service, b"title,title\nLamp,x\n", pipeline="catalogue")
    assert body["rows"][0] == ["title", "title"]


async def test_the_beginning_of_a_large_file_is_enough(service: Service) -> None:
    row = b'Lamp "x",A-1,4006381333931\n'.replace(b'"x"', "größe".encode())
    data = b"title,sku,gtin\n" + row * 2000
    cut = data[: len(data) // 2 - 3]
    body = await preview(service, cut, pipeline="catalogue", sizeBytes=str(len(data)))
    assert body["whole"] is False and body["rowsExact"] is False
    assert abs(body["rowsEstimate"] - 2000) < 20
    assert len(body["rows"]) == 50
    assert body["problems"] == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
async def test_a_cut_inside_a_character_or_a_quoted_cell_is_no_problem(service: Service, encoding: str) -> None:
    text = "title,sku\n" + '"Größe, ""ü""\nzwei",A-1\n' * 300
    data = text.encode(encoding)
    for cut in range(len(data) - 40, len(data) - 1, 7):
        body = await preview(service, data[:cut], pipeline="catalogue", sizeBytes=str(len(data)))
        assert body["problems"] == [], (cut, body["problems"])


async def test_a_workbook_is_looked_into_with_its_sheets(service: Service) -> None:
    held = io.BytesIO()
    with xlsxwriter.Workbook(held, {"in_memory": True}) as book:
        for name, rows in {"First": [["title", "sku"], ["Lamp", "A-1"]], "Other": [["name"], ["x"]]}.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    data = held.getvalue()
    body = await preview(service, data, name="list.xlsx", pipeline="catalogue")
    assert (body["kind"], body["sheet"], body["sheets"]) == ("xlsx", "First", ["First", "Other"])
    assert body["rows"] == [["Lamp", "A-1"]]
    assert [one["role"] for one in body["columns"]] == ["title", "sku"]
    other = await preview(service, data, name="list.xlsx", pipeline="catalogue", sheet="Other")
    assert other["rows"] == [["x"]]
    damaged = await preview(service, data[:-30], name="list.xlsx", pipeline="catalogue")
    assert damaged["problems"][0]["blocks"]
    beginning = await preview(service, data[:400], name="list.xlsx", sizeBytes=str(10**8))
    assert "too large for a look" in beginning["problems"][0]["sentence"]
    assert not beginning["problems"][0]["blocks"]


async def test_a_zip_of_images_names_what_is_left_out(service: Service) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("one.png", PNG)
        archive.writestr("notes.txt", "hello")
        archive.writestr("__MACOSX/one.png", "x")
    body = await preview(service, held.getvalue(), name="photos.zip", pipeline="catalogue")
    assert (body["kind"], body["rowsEstimate"]) == ("zip", 2)
    assert [(one["name"], one["problem"] is None) for one in body["images"]] == [
        ("one.png", True),
        ("notes.txt", False),
    ]
    assert "notes.txt" in body["problems"][0]["sentence"]
    refused = await preview(service, held.getvalue(), name="photos.zip", pipeline="look_up")
    assert "takes no images" in refused["problems"][0]["sentence"]


async def test_several_files_have_to_be_images(service: Service) -> None:
    ann = await service.client("ann")
    files = [("file", ("a.png", PNG)), ("file", ("b.csv", b"title\nLamp\n"))]
    answer = await ann.post("/api/uploads/preview", files=files, data={"files": "7", "pipeline": "catalogue"})
    body = answer.json()
    assert body["rowsEstimate"] == 7
    assert [one["row"] for one in body["problems"] if one["blocks"]] == [2]


async def test_without_a_name_the_pipeline_that_knows_most_columns_is_chosen(service: Service) -> None:
    assert (await preview(service, b"title,ean\nLamp,1\n"))["pipeline"] == "catalogue"
    await preview(service, b"title\nLamp\n", pipeline="nowhere", status=400)


async def test_too_large_a_file_is_told_before_it_is_sent(service: Service) -> None:
    body = await preview(service, b"title\nLamp\n", pipeline="catalogue", sizeBytes=str(3 * 1024**3))
    assert "at most" in body["problems"][0]["sentence"]
    assert body["problems"][0]["blocks"]


async def test_a_look_leaves_nothing_behind(service: Service) -> None:
    await preview(service, b"title\nLamp\n", pipeline="catalogue")
    (row,) = await service.fetch(
        "select (select count(*) from penstock.files) as files, (select count(*) from penstock.jobs) as jobs"
    )
    assert (row["files"], row["jobs"]) == (0, 0)


async def test_pipelines_that_take_files_say_what_they_are_for_and_what_can_be_chosen(service: Service) -> None:
    eve = await service.client("eve")
    found = {one["name"]: one for one in (await eve.get("/api/pipelines")).json()["items"]}
    assert "add" not in found
    assert found["look_up"]["about"] == "Says what to do by its first cell, as rows of a file do."
    assert (found["look_up"]["takesRows"], found["look_up"]["takesImages"]) == (True, False)
    catalogue = found["catalogue"]
    assert "title" in catalogue["roles"]
    (option,) = catalogue["options"]
    assert (option["name"], option["kind"], option["choices"]) == ("providers", "order", ["local"])
