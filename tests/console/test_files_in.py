"""Files other than CSV, through the API into rows: XLSX, images, zips; and files that are none of these."""

import io
import zipfile
from typing import Any

import pytest
import xlsxwriter
from PIL import Image

from penstock.console.files.importing import Importing
from tests.console.conftest import Service


def workbook(rows: list[list[Any]], sheet: str = "Prices") -> bytes:
    data = io.BytesIO()
    with xlsxwriter.Workbook(data) as book:
        book.add_worksheet("Empty")
        page = book.add_worksheet(sheet)
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
    return data.getvalue()


def picture(colour: str) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(data, "PNG")
    return data.getvalue()


async def send(service: Service, files: list[tuple[str, bytes]], **fields: str) -> Any:
    client = await service.client()
    parts = [("file", (name, data)) for name, data in files]
    return await client.post("/api/jobs", files=parts, data={"pipeline": "look_up_any", **fields})


async def stored(service: Service, job: int) -> list[Any]:
    await Importing(service.app, None, job).run()
    page = (await (await service.client()).get(f"/api/jobs/{job}/items?sort=row&cells=true")).json()
    return [item["cells"] or item["inputSummary"] for item in page["items"]]


async def test_the_rows_of_a_sheet_are_stored_as_people_see_them(service: Service) -> None:
    answer = await send(service, [("a.xlsx", workbook([["Name", "Count"], ["bolt", 3], ["007", 1.5]]))], sheet="Prices")
    assert answer.status_code == 202, answer.text
    assert await stored(service, answer.json()["jobId"]) == [["bolt", "3"], ["007", "1.5"]]
    missing = await send(service, [("a.xlsx", workbook([["Name"], ["bolt"]]))], sheet="Nothing")
    assert missing.status_code == 400
    assert "Prices" in missing.json()["detail"]


async def test_several_images_are_one_job(service: Service) -> None:
    answer = await send(service, [("a.png", picture("red")), ("b.png", picture("blue"))])
    assert answer.status_code == 202, answer.text
    job = answer.json()["jobId"]
    assert await stored(service, job) == [{"Image": "a.png"}, {"Image": "b.png"}]
    files = await service.fetch("select name, job_id from penstock.files order by id")
    assert [tuple(row) for row in files] == [("a.png", job), ("b.png", job)]


async def test_the_images_of_a_zip_become_items_and_the_rest_is_named(service: Service) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("photos/a.png", picture("red"))
        archive.writestr("photos/readme.txt", "not a picture")
        archive.writestr("photos/b.png", picture("blue"))
    answer = await send(service, [("photos.zip", data.getvalue())])
    assert answer.status_code == 202, answer.text
    job = answer.json()["jobId"]
    assert await stored(service, job) == [{"Image": "a.png"}, {"Image": "b.png"}]
    shown = (await (await service.client()).get(f"/api/jobs/{job}")).json()["import"]
    assert shown["state"] == "stored"
    assert "readme.txt" in shown["problem"]["detail"]
    assert len(await service.fetch("select 1 from penstock.files where job_id = $1", job)) == 3


async def test_images_that_were_stored_before_a_restart_are_not_stored_again(service: Service) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in ("a", "b", "c"):
            archive.writestr(f"{name}.png", picture("red"))
    job = (await send(service, [("photos.zip", data.getvalue())])).json()["jobId"]
    await service.fetch("update penstock.imports set rows_stored = 1 where job_id = $1", job)
    assert await stored(service, job) == [{"Image": "b.png"}, {"Image": "c.png"}]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([("a.csv", b"name\nx\n"), ("b.csv", b"name\ny\n")], "several files at once have to be images"),
        ([("a.xlsx", b"PK\x03\x04 cut off")], ""),
        ([("a.png", b"\x89PNG\r\n\x1a\n"), ("b.csv", b"name\nx\n")], "several files"),
        ([("a.gz", b"\x1f\x8b\x08\x00 compressed")], ""),
    ],
)
async def test_what_cannot_be_taken_is_refused_and_leaves_nothing(
    service: Service, files: list[tuple[str, bytes]], says: str
) -> None:
    answer = await send(service, files)
    assert answer.status_code == 400, answer.text
    assert says in answer.json()["detail"]
    assert await service.fetch("select 1 from penstock.files") == []
    assert await service.fetch("select 1 from penstock.jobs") == []


async def test_a_pipeline_that_takes_no_images_says_so(service: Service) -> None:
    client = await service.client()
    answer = await client.post("/api/jobs", files={"file": ("a.png", picture("red"))}, data={"pipeline": "look_up"})
    assert answer.status_code == 400
    assert "takes no images" in answer.json()["detail"]


async def test_a_safe_export_is_read_as_it_was_before(service: Service) -> None:
    client = await service.client()
    rows = b"'=name,other\n'=1+1,plain\n''=x,'tis\n"
    answer = await client.post(
        "/api/jobs", files={"file": ("a.csv", rows)}, data={"pipeline": "look_up", "safe": "true", "header": "true"}
    )
    job = answer.json()["jobId"]
    assert (await client.get(f"/api/jobs/{job}")).json()["columns"] == ["=name", "other"]
    page = (await client.get(f"/api/jobs/{job}/items?sort=row&cells=true")).json()
    assert [item["cells"] for item in page["items"]] == [["=1+1", "plain"], ["'=x", "'tis"]]
