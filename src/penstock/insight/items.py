"""The items of jobs as people see them: a page of them, with a summary of the input and why each waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from penstock.errors import InvalidSetting, JobNotFound, RowNotFound
from penstock.insight import error_groups
from penstock.insight.error_groups import Look
from penstock.insight.waiting import note_of_item
from penstock.lifecycle import State
from penstock.storage import items, jobs
from penstock.storage.items import EARLIEST, ItemPosition, ItemsWanted

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
    pipeline: str | None
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
    first: ItemPosition | None
    last: ItemPosition | None
    previous: ItemPosition | None
    next: ItemPosition | None


async def page(
    connection: Any,
    wanted: ItemsWanted,
    *,
    sort: Sort = "-updatedAt",
    after: ItemPosition | None = None,
    before: ItemPosition | None = None,
    limit: int = 50,
) -> ItemPage:
    """``row`` is the order of the file, of one job and in all states; an edited copy stands where the row stood. The
    page that ends ``before`` a place has the same order as all others.

    Groups are no column: failures next to the place are looked through, a bounded number of them. The places at the
    ends of such a page are those of the look, so that whoever goes on from an empty page gets further.
    """
    backwards = before is not None
    behind = before if backwards else after
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        if wanted.group is None:
            look = await _look(connection, wanted, sort, behind, limit, backwards=backwards)
        else:
            newest_first = (sort == "-updatedAt") is not backwards
            look = await error_groups.members(connection, wanted, newest_first=newest_first, behind=behind, limit=limit)
        listed = [place.task_id for place in (look.places[::-1] if backwards else look.places)]
        by_row = sort == "row" and wanted.group is None
        copies = await items.standing_in(connection, listed) if by_row else {}
        shown = await _shown(connection, [copies.get(one, one) for one in listed])
    first, last = (look.last, look.first) if backwards else (look.first, look.last)
    return ItemPage(
        items=tuple(shown),
        first=first,
        last=last,
        previous=first if after is not None or (backwards and look.more) else None,
        next=last if backwards or look.more else None,
    )


async def now(connection: Any, task_ids: Sequence[int]) -> list[Item]:
    """These as they are now; one that is gone is left out."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await _shown(connection, task_ids)


async def _shown(connection: Any, task_ids: Sequence[int]) -> list[Item]:
    found = await items.rows(connection, task_ids)
    metadata = await jobs.metadata_of(connection, sorted({row["job_id"] for row in found}))
    return [_item(row, tuple(metadata.get(row["job_id"], {}).get("columns", ()))) for row in found]


async def _look(
    connection: Any, wanted: ItemsWanted, sort: Sort, behind: ItemPosition | None, limit: int, *, backwards: bool
) -> Look:
    """Nearest first."""
    if sort == "row":
        places = await items.by_row(connection, wanted.jobs[0], behind, limit, backwards=backwards)
    elif (sort == "-updatedAt") is not backwards:
        places = await items.newest(connection, wanted, behind, limit)
    else:
        places = await items.oldest(connection, wanted, behind, limit)
    first, last = (places[0], places[-1]) if places else (None, None)
    return Look(places=tuple(places), first=first, last=last, more=len(places) == limit)


async def page_of_job(
    connection: Any,
    job_id: int,
    *,
    states: Sequence[State] = tuple(State),
    after: ItemPosition | None = None,
    limit: int = 50,
) -> ItemPage:
    """Newest change first; a job that does not exist is told."""
    if await jobs.get(connection, job_id) is None:
        raise JobNotFound(job_id)
    return await page(connection, ItemsWanted(jobs=[job_id], states=states), after=after, limit=limit)


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


async def place_of(connection: Any, item: Item, sort: Sort) -> ItemPosition:
    """Where it stands in a list of its job."""
    if sort == "row":
        return ItemPosition(EARLIEST, await items.stood_first(connection, item.id))
    return ItemPosition(item.updated_at, item.id)


def states(text: str | None) -> list[State]:
    """From names with commas between them; none: all."""
    names = [name.strip().upper() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in State.__members__:
            raise InvalidSetting("statuses", name, f"use some of {', '.join(State.__members__).lower()}")
    return [State[name] for name in dict.fromkeys(names)] or list(State)


def written(place: ItemPosition | None) -> str | None:
    """A place as people hand it from one command to the next."""
    return None if place is None else f"{place.at.isoformat()}/{place.task_id}"


def place(text: str | None) -> ItemPosition | None:
    if text is None:
        return None
    at, _, task_id = text.rpartition("/")
    try:
        return ItemPosition(datetime.fromisoformat(at), int(task_id))
    except ValueError:
        raise InvalidSetting("after", text, "it is what the page before ended with") from None


def _item(row: Mapping[str, Any], columns: Sequence[str]) -> Item:
    running, pending = row["status"] is State.PROCESSING, row["status"] is State.PENDING
    given = row["input"]
    return Item(
        id=row["item_id"],
        job_id=row["job_id"],
        row=given.get("row") if isinstance(given.get("row"), int) else None,
        status=row["status"],
        pipeline=row["pipeline"],
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
        why=note_of_item(row) if pending else None,
        looks_again_at=row["run_at"]
        if pending and row["cause"] == "not_found" and row["run_at"] > row["read_at"]
        else None,
    )


def summary(given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, str]:
    """Title, brand and SKU where there are such columns, else the first ones: enough to know the row by."""
    if isinstance(given.get("image"), Mapping):
        return {"Image": str(given["image"].get("name", ""))[:_SUMMARY_CHARACTERS]}
    cells = given.get("cells")
    pairs = list(zip(columns, cells, strict=False)) if isinstance(cells, list) else list(given.items())
    telling = [pair for word in _TELLING for pair in pairs if word in str(pair[0]).lower() and pair[1]]
    chosen = dict(telling[:_SUMMARY_CELLS]) or dict(pairs[:_SUMMARY_CELLS])
    return {str(name)[:_SUMMARY_CHARACTERS]: str(value)[:_SUMMARY_CHARACTERS] for name, value in chosen.items()}


def within(wanted: ItemsWanted, since: datetime | None, until: datetime | None) -> ItemsWanted:
    """Narrowed to a range of times."""
    return replace(wanted, since=since or wanted.since, until=until or wanted.until)
