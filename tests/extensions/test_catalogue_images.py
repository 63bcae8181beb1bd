"""Pictures of products through the pipeline: the code in the picture names the product."""

import base64
import io
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
import zxingcpp
from PIL import Image

from penstock.console.files.files import store
from penstock.extensions.catalogue.understood import Understood
from penstock.lifecycle import State
from penstock.testing import drain
from tests.extensions.catalogue_world import World, gtin

NUMBER = gtin(4711)


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with World(database_url) as made:
        await made.know(Understood(title="Zephyr Drill", gtin=NUMBER, price=Decimal("9.50")))
        yield made


def picture(text: str | None, form: zxingcpp.BarcodeFormat = zxingcpp.BarcodeFormat.EAN13) -> bytes:
    """A photo with a code on it, or without."""
    canvas = Image.new("L", (640, 480), 255)
    if text is not None:
        canvas.paste(Image.fromarray(zxingcpp.create_barcode(text, form).to_image(scale=3)), (40, 60))
    out = io.BytesIO()
    canvas.save(out, "PNG")
    return out.getvalue()


async def _at_once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def submitted(world: World, *images: bytes) -> int:
    inputs = []
    for number, data in enumerate(images, start=1):
        stored = await store(world.app, _at_once(data), owner="ann", name=f"{number}.png", ip=None)
        inputs.append({"row": number, "image": {"file_id": stored.id, "name": stored.name}})
    job_id = await world.submit_inputs(inputs, {"type": "images", "columns": ["Image"], "options": {}})
    await world.fetch("update penstock.files set job_id = $1 where job_id is null", job_id)
    return job_id


async def test_a_photo_with_a_barcode_is_looked_up_by_it(world: World):
    job_id = await submitted(world, picture(NUMBER[1:]))
    await drain(world.app)
    [outcome] = await world.outcomes(job_id)
    columns, normalized = outcome["result"]["columns"], outcome["result"]["normalized"]
    assert (columns["Matched title"], columns["Price"], columns["Match"]) == ("Zephyr Drill", 9.5, "gtin")
    assert (columns["Image size"], columns["Codes"]) == ("640 × 480", f"EAN-13 {NUMBER[1:]}")
    assert normalized["gtin"] == NUMBER and len(normalized["perceptual_hash"]) == 16
    kind, _, data = normalized["thumbnail"].partition(",")
    assert kind == "data:image/jpeg;base64" and base64.b64decode(data)[:2] == b"\xff\xd8"
    assert outcome["result"]["provenance"]["Price"]["query"] == f"gtin {NUMBER}"


async def test_a_link_in_a_qr_code_names_the_product_too(world: World):
    job_id = await submitted(world, picture(f"https://id.example/01/{NUMBER}/10/B7", zxingcpp.BarcodeFormat.QRCode))
    await drain(world.app)
    [outcome] = await world.outcomes(job_id)
    assert outcome["result"]["columns"]["Match"] == "gtin"


async def test_a_photo_without_a_code_is_not_found_at_once_and_says_so(world: World):
    job_id = await submitted(world, picture(None), picture("https://shop.example", zxingcpp.BarcodeFormat.QRCode))
    assert (await drain(world.app)).ended == {State.NOT_FOUND: 2}
    without, strange = await world.outcomes(job_id)
    assert without["error"]["message"] == "no barcode or QR code could be read in 1.png"
    assert "no code in 2.png is the number of a product: https://shop.example" in strange["error"]["message"]
    assert await world.asked(job_id) == {}


async def test_a_picture_of_another_job_is_not_looked_at(world: World):
    job_id = await submitted(world, picture(NUMBER[1:]))
    [file] = await world.fetch("select id from penstock.files where job_id = $1", job_id)
    other = await world.submit_inputs([{"row": 1, "image": {"file_id": file["id"], "name": "1.png"}}], {})
    assert (await drain(world.app)).failed == 1
    [outcome] = await world.outcomes(other)
    assert outcome["error"]["message"] == f"1.png: there is no file {file['id']} in this job. Upload it again."
    assert outcome["result"] is None


async def test_what_is_no_image_and_a_file_that_is_gone_end_with_the_reason(world: World):
    job_id = await submitted(world, b"%PDF-1.7 not an image at all")
    await world.submit_inputs([{"row": 1, "image": {"file_id": 999999, "name": "gone.png"}}, {"row": 2}], {})
    assert (await drain(world.app)).failed == 3
    [outcome] = await world.outcomes(job_id)
    assert outcome["error"]["message"].startswith("1.png: it is no image of a kind that is read")
    rows = await world.fetch("select error ->> 'message' as said from penstock.outcomes where job_id <> $1", job_id)
    assert {row["said"].split(":")[0].split(".")[0] for row in rows} == {
        "gone",
        "Row 2 holds neither cells nor an image",
    }
