"""The items of jobs as people see them: a page of them, with a summary of the input and why each waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, assert_never

from penstock.engine import error_groups
from penstock.engine.wording import span
from penstock.errors import InvalidSetting, JobNotFound, RowNotFound
from penstock.lifecycle import State
from penstock.storage import items, jobs
from penstock.storage.items import EARLIEST, Place, Wanted

Sort = Literal["-updatedAt", "updatedAt", "row"]
_SUMMARY_CELLS = 3
_SUMMARY_CHARACTERS = 120
_TELLING = ("title", "name", "product", "brand", "sku")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """``result``: the grid's columns of a task that takes rows, else the whole result."""

    id: int
    job_id: int
    row: int | None
    status: State
    stage: str | None
    attempts: int
    max_attempts: int | None
    locked_by: str | None
    locked_at: datetime | None
    updated_at: datetime
    created_at: datetime
    run_at: datetime | None
    read_at: datetime
    input_summary: Mapping[str, str]
    input: Mapping[str, Any]
    result: Any
    result_too_large: bool
    error: Mapping[str, Any] | None
    why: str | None
    looks_again_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage:
    """``first``, ``last``: the places of its ends; ``previous``, ``next``: the same where there may be more."""

    items: tuple[Item, ...]
    first: Place | None
    last: Place | None
    previous: Place | None
    next: Place | None


async def page(
    connection: Any,
    wanted: Wanted,
    *,
    sort: Sort = "-updatedAt",
    after: Place | None = None,
    before: Place | None = None,
    limit: int = 50,
) -> ItemPage:
    """``row`` is the order of the file, of one job and in all states; an edited copy stands where the row stood. The
    page that ends ``before`` a place has the same order as all others."""
    if wanted.group is not None:
        return await _page_of_group(connection, wanted, sort, after, before, limit)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        if before is None:
            places = await _places(connection, wanted, sort, after, limit)
        else:
            places = (await _places_before(connection, wanted, sort, before, limit))[::-1]
        listed = [place.task_id for place in places]
        copies = await items.standing_in(connection, listed) if sort == "row" else {}
        found = await items.rows(connection, [copies.get(one, one) for one in listed])
        columns = await _columns(connection, {row["job_id"] for row in found})
    first, last = (places[0], places[-1]) if places else (None, None)
    full = len(places) == limit
    return ItemPage(
        items=tuple(_item(row, columns.get(row["job_id"], ())) for row in found),
        first=first,
        last=last,
        previous=first if after is not None or (before is not None and full) else None,
        next=last if before is not None or full else None,
    )


async def _page_of_group(
    connection: Any, wanted: Wanted, sort: Sort, after: Place | None, before: Place | None, limit: int
) -> ItemPage:
    """Groups are no column: failures next to the place are looked through, a bounded number of them. The places at its
    ends are those of the look, so that whoever goes on from an empty page gets further."""
    backwards = before is not None
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        look = await error_groups.members(
            connection,
            wanted,
            newest_first=(sort == "-updatedAt") is not backwards,
            behind=before if backwards else after,
            limit=limit,
        )
        places = look.places[::-1] if backwards else look.places
        found = await items.rows(connection, [place.task_id for place in places])
        columns = await _columns(connection, {row["job_id"] for row in found})
    first, last = (look.last, look.first) if backwards else (look.first, look.last)
    return ItemPage(
        items=tuple(_item(row, columns.get(row["job_id"], ())) for row in found),
        first=first,
        last=last,
        previous=first if after is not None or (backwards and look.more) else None,
        next=last if backwards or look.more else None,
    )


async def now(connection: Any, task_ids: Sequence[int]) -> list[Item]:
    """These as they are now; one that is gone is left out."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        found = await items.rows(connection, task_ids)
        columns = await _columns(connection, {row["job_id"] for row in found})
    return [_item(row, columns.get(row["job_id"], ())) for row in found]


async def _places(connection: Any, wanted: Wanted, sort: Sort, after: Place | None, limit: int) -> list[Place]:
    match sort:
        case "-updatedAt":
            return await items.newest(connection, wanted, after, limit)
        case "updatedAt":
            return await items.oldest(connection, wanted, after, limit)
        case "row":
            return await items.by_row(connection, wanted.jobs[0], after, limit)
        case _:
            assert_never(sort)


async def _places_before(connection: Any, wanted: Wanted, sort: Sort, before: Place, limit: int) -> list[Place]:
    """Nearest first."""
    match sort:
        case "-updatedAt":
            return await items.oldest(connection, wanted, before, limit)
        case "updatedAt":
            return await items.newest(connection, wanted, before, limit)
        case "row":
            return await items.by_row_backwards(connection, wanted.jobs[0], before, limit)
        case _:
            assert_never(sort)


async def page_of_job(
    connection: Any, job_id: int, *, states: Sequence[State], after: Place | None, limit: int
) -> ItemPage:
    """Newest change first; a job that does not exist is told."""
    if await jobs.get(connection, job_id) is None:
        raise JobNotFound(job_id)
    return await page(connection, Wanted(jobs=[job_id], states=states), after=after, limit=limit)


async def one(connection: Any, task_id: int) -> Item | None:
    return next(iter(await now(connection, [task_id])), None)


async def id_of_row(connection: Any, job_id: int, row: int) -> int:
    """Rows are numbered in the order of their ids, from 1."""
    if await jobs.get(connection, job_id) is None:
        raise JobNotFound(job_id)
    found = await items.of_row(connection, job_id, row)
    if found is None:
        raise RowNotFound(job_id, row)
    return found


async def id_now_of_row(connection: Any, job_id: int, row: int) -> int:
    """Of its last copy, where the row was edited."""
    stored = await id_of_row(connection, job_id, row)
    return (await items.standing_in(connection, [stored])).get(stored, stored)


async def place_of(connection: Any, item: Item, sort: Sort) -> Place:
    """Where it stands in a list of its job."""
    if sort == "row":
        return Place(EARLIEST, await items.stood_first(connection, item.id))
    return Place(item.updated_at, item.id)


def states(text: str | None) -> list[State]:
    """From names with commas between them; none: all."""
    names = [name.strip().upper() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in State.__members__:
            raise InvalidSetting("statuses", name, f"use some of {', '.join(State.__members__).lower()}")
    return [State[name] for name in dict.fromkeys(names)] or list(State)


def written(place: Place | None) -> str | None:
    """A place as people hand it from one command to the next."""
    return None if place is None else f"{place.at.isoformat()}/{place.task_id}"


def place(text: str | None) -> Place | None:
    if text is None:
        return None
    at, _, task_id = text.rpartition("/")
    try:
        return Place(datetime.fromisoformat(at), int(task_id))
    except ValueError:
        raise InvalidSetting("after", text, "it is what the page before ended with") from None


async def _columns(connection: Any, job_ids: set[int]) -> dict[int, Sequence[str]]:
    found = await jobs.metadata_of(connection, sorted(job_ids))
    return {job_id: tuple(metadata.get("columns", ())) for job_id, metadata in found.items()}


def _item(row: Mapping[str, Any], columns: Sequence[str]) -> Item:
    running = row["status"] is State.PROCESSING
    given = row["input"]
    return Item(
        id=row["item_id"],
        job_id=row["job_id"],
        row=given.get("row") if isinstance(given.get("row"), int) else None,
        status=row["status"],
        stage=row["stage"],
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        locked_by=row["locked_by"] if running else None,
        locked_at=row["updated_at"] if running else None,
        updated_at=row["updated_at"],
        created_at=row["created_at"],
        run_at=row["run_at"],
        read_at=row["read_at"],
        input_summary=summary(given, columns),
        input=given,
        result=row["result"],
        result_too_large=bool(row["result_too_large"]),
        error=row["error"],
        why=_why(row),
        looks_again_at=row["run_at"] if _looks_again_later(row) else None,
    )


def _looks_again_later(row: Mapping[str, Any]) -> bool:
    return row["status"] is State.PENDING and row["cause"] == "not_found" and bool(row["run_at"] > row["read_at"])


def summary(given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    """Title, brand and SKU where there are such columns, else the first ones: enough to know the row by."""
    if isinstance(given.get("image"), Mapping):
        return {"Image": str(given["image"].get("name", ""))[:_SUMMARY_CHARACTERS]}
    cells = given.get("cells")
    pairs = list(zip(columns, cells, strict=False)) if isinstance(cells, list) else list(given.items())
    telling = [pair for word in _TELLING for pair in pairs if word in str(pair[0]).lower() and pair[1]]
    chosen = dict(telling[:_SUMMARY_CELLS]) or dict(pairs[:_SUMMARY_CELLS])
    return {str(name)[:_SUMMARY_CHARACTERS]: str(value)[:_SUMMARY_CHARACTERS] for name, value in chosen.items()}


def _why(row: Mapping[str, Any]) -> str | None:
    """What it waits for, as far as one look tells; `/api/tasks/{id}/why` knows everything."""
    if row["status"] is not State.PENDING:
        return None
    if row["lane_paused_at"] is not None:
        reason = f": {row['pause_reason']}" if row["pause_reason"] else ""
        return f"paused by {row['paused_by']}{reason}"
    if row["stage_paused_at"] is not None:
        return f"the stage {row['stage']} is paused"
    if (left := (row["run_at"] - row["read_at"]).total_seconds()) > 0:
        if row["cause"] == "not_found":
            return f"not found; looks again in {span(left)}, as try {row['attempts'] + 1}"
        after = f" after {row['cause'].replace('_', ' ')}" if row["cause"] else ""
        tries = f"try {row['attempts'] + 1} of {row['max_attempts']} " if row["attempts"] else ""
        return f"{tries}in {span(left)}{after}"
    return "due; waits for its turn"


def within(wanted: Wanted, since: datetime | None, until: datetime | None) -> Wanted:
    """Narrowed to a range of times."""
    return replace(wanted, since=since or wanted.since, until=until or wanted.until)
