from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from penstock.console.http.actor import Operator, Viewer
from penstock.console.http.ground import ground_of

router = APIRouter()


@router.get("/api/letters", operation_id="listLetters")
async def letters(request: Request, actor: Viewer) -> list[str]:
    async with ground_of(request).app.connection() as connection:
        return [row["text"] for row in await connection.fetch("select text from letters.letters order by id")]


@router.post("/api/letters", operation_id="writeLetter", status_code=202)
async def write(request: Request, to: str, actor: Operator) -> int:
    task = await ground_of(request).app.enqueue("letters.write", {"to": to}, owner=actor.name)
    return task.id


@router.get("/letters", include_in_schema=False)
async def page() -> HTMLResponse:
    return HTMLResponse("<!doctype html><title>Letters</title><h1>Letters</h1>")
