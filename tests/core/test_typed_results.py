"""Results come back as the types that handlers are annotated with, and so do the arguments of later stages."""

import enum
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, computed_field

from penstock import Context, Done, NotFound, Penstock, Skip, Snooze, State
from penstock.errors import InvalidArguments, TaskFailed, UnreadableResult
from penstock.testing import assert_enqueued, drain, inline

AT = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)


class Colour(enum.Enum):
    RED = "red"


class Item(BaseModel):
    name: str
    price: Decimal
    made: date
    colour: Colour = Colour.RED


class Aliased(BaseModel):
    """By its alias from outside, by its name in what is stored."""

    model_config = ConfigDict(strict=True)
    at: datetime = Field(alias="createdAt")


class Measured(BaseModel):
    metres: float


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    id: UUID
    items: list[Item]
    wait: timedelta
    note: str | None = None


def isolated_first(order: Order) -> Order:
    assert isinstance(order, Order)
    return order


def isolated_second(order: Order) -> dict[int, timedelta]:
    return {len(order.items): order.wait}


ITEM = Item(name="lamp", price=Decimal("9.90"), made=date(2026, 7, 1))
ORDER = Order(id=UUID(int=7), items=[ITEM], wait=timedelta(minutes=3))

VALUES: list[tuple[Any, Any]] = [
    (Item, ITEM),
    (Order, ORDER),
    (Aliased, Aliased(createdAt=AT)),
    (datetime, AT),
    (date, date(2026, 7, 1)),
    (time, time(12, 30)),
    (timedelta, timedelta(days=2, milliseconds=5)),
    (Decimal, Decimal("0.10")),
    (UUID, UUID(int=5)),
    (Colour, Colour.RED),
    (Point, Point(1, 2)),
    (tuple[int, str], (1, "one")),
    (tuple[Item, ...], (ITEM, ITEM)),
    (frozenset[int], frozenset({1, 2})),
    (dict[int, str], {1: "one"}),
    (dict[date, list[Order]], {date(2026, 7, 1): [ORDER]}),
    (Item | None, ITEM),
    (Item | None, None),
    (list[datetime | None], [AT, None]),
    (Annotated[Item, "described"], ITEM),
    (Item | NotFound | Snooze | Skip, ITEM),
    (Any, {"as": "it is"}),
    (dict, {"as": "it is"}),
    (NotFound | Snooze, None),
]


@pytest.fixture(params=["drain", "worker"])
def finish(request, app: Penstock, working: Callable[..., Any]) -> Callable[..., Awaitable[None]]:
    """Run what was enqueued, in the test kit and in a worker."""

    async def until_ended(tasks: list[Any]) -> None:
        if request.param == "drain":
            await drain(app)
            return
        async with working():
            for task in tasks:
                await task.wait(60)

    return until_ended


async def test_a_result_has_the_type_that_its_task_is_annotated_with(app, finish):
    given = []
    for number, (annotation, _) in enumerate(VALUES):

        async def give(number: int) -> None:
            return VALUES[number][1]

        give.__annotations__["return"] = annotation
        given.append(app.task(name=f"give {number}")(give))
    tasks = [await one.enqueue(number) for number, one in enumerate(given)]
    await finish(tasks)
    for task, (annotation, value) in zip(tasks, VALUES, strict=True):
        found = await task.result(1)
        assert (found, type(found)) == (value, type(value)), annotation


async def test_plain_functions_and_isolated_ones_get_and_give_their_types_as_well(app, finish):
    @app.task()
    def in_thread() -> Order:
        return ORDER

    pipe = app.pipeline("pipe")
    pipe.stage(isolated=True)(isolated_first)
    pipe.stage(isolated=True)(isolated_second)
    tasks = [await in_thread.enqueue(), await pipe.enqueue(order=ORDER)]
    await finish(tasks)
    assert await tasks[0].result(1) == ORDER
    assert await tasks[1].result(1) == {1: ORDER.wait}


async def test_a_later_stage_gets_what_its_own_parameter_is_annotated_with(app, finish):
    seen: list[Any] = []
    pipe = app.pipeline("pipe")

    @pipe.stage()
    async def first(sku: str) -> Order:
        return ORDER

    @pipe.stage()
    async def second(ctx: Context, order: Order) -> tuple[Item, ...]:
        seen.append(order)
        return tuple(order.items)

    @pipe.stage()
    def third(items: list[Item]) -> Item:
        seen.append(items)
        return items[0]

    task = await pipe.enqueue(sku="A-1")
    await finish([task])
    assert await task.result(1) == ITEM
    assert seen == [ORDER, [ITEM]]


async def test_a_result_written_in_a_transaction_and_one_in_done_are_typed_as_well(app):
    @app.task()
    async def stored(ctx: Context) -> Item:
        async with ctx.transaction() as transaction:
            transaction.result = ITEM
        return ITEM

    @app.task()
    async def done() -> Item | Done:
        return Done(ITEM)

    async with inline(app):
        assert await (await stored.enqueue()).result(1) == ITEM
        assert await (await done.enqueue()).result(1) == ITEM


async def test_arguments_come_back_as_they_were_given_whatever_the_model_calls_its_fields(app):
    seen: list[Any] = []

    @app.task()
    async def take(model: Aliased, names: dict[int, str], order: Order) -> None:
        seen.append((model, names, order))

    await take.enqueue(Aliased(createdAt=AT), {1: "one"}, order=ORDER)
    assert (await drain(app)).done == 1
    assert seen == [(Aliased(createdAt=AT), {1: "one"}, ORDER)]


async def test_a_later_stage_can_read_an_iterable_more_than_once(app):
    pipeline = app.pipeline("sums")

    @pipeline.stage()
    async def numbers() -> list[int]:
        return [1, 2, 3]

    @pipeline.stage()
    async def summed(rows: Iterable[int]) -> dict[str, int]:
        return {"total": sum(rows), "largest": max(rows)}

    task = await pipeline.enqueue()
    await drain(app)
    assert await task.result(1) == {"total": 6, "largest": 3}


async def test_arguments_that_cannot_be_read_from_their_own_json_are_refused_by_enqueue(app):
    class Sealed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        metres: int

        @computed_field  # type: ignore[prop-decorator]
        @property
        def centimetres(self) -> int:
            return self.metres * 100

    @app.task()
    async def measure(what: Sealed) -> None: ...

    with pytest.raises(InvalidArguments, match="centimetres"):
        await measure.enqueue(Sealed(metres=1))


def test_a_class_that_only_type_checkers_see_leaves_the_value_as_json_has_it(app):
    pipeline = app.pipeline("facts")

    @pipeline.stage()
    async def find() -> list["Facts"]: ...  # type: ignore[name-defined] # noqa: F821

    assert pipeline.pipeline.returns.load('[{"n": 1}]') == [{"n": 1}]


async def test_every_handle_of_a_task_gives_its_type(app):
    @app.task()
    async def lamp() -> Item:
        return ITEM

    task = await lamp.enqueue()
    await drain(app)
    by_key = await lamp.options(idempotency_key="one").enqueue()
    again = await lamp.options(idempotency_key="one").enqueue()
    await drain(app)
    for handle in (task, by_key, again, app.task_by_id(task.id), await assert_enqueued(app, lamp)):
        assert await handle.result(1) == ITEM
    assert (await task.wait(60))[:2] == (State.DONE, ITEM.model_dump(mode="json")), "wait() shows what is stored"


async def test_a_stored_result_that_does_not_fit_says_so_and_what_to_do(app, connection):
    @app.task()
    async def lamp() -> Item:
        return ITEM

    task = await lamp.enqueue()
    await drain(app)
    await connection.execute('update penstock.outcomes set result = \'{"name": "lamp"}\' where task_id = $1', task.id)
    with pytest.raises(UnreadableResult) as caught:
        await task.result(1)
    told = str(caught.value)
    assert f"task {task.id} ('lamp')" in told
    assert "Item" in told
    assert "price: field required" in told
    assert "{'name': 'lamp'}" in told
    assert "wait()" in told
    assert "reprocess()" in told


async def test_a_stage_that_cannot_read_the_result_before_it_fails_for_good_and_says_why(app):
    pipe = app.pipeline("pipe")

    @pipe.stage()
    async def first() -> dict[str, Any]:
        return {"name": "lamp"}

    @pipe.stage()
    async def second(item: Item) -> None: ...

    task = await pipe.enqueue()
    assert (await drain(app)).runs == 2
    with pytest.raises(
        TaskFailed, match=r"result of the stage before.*'item'.*Item.*price: field required.*from_stage"
    ):
        await task.result(1)


async def test_a_value_that_json_and_the_annotation_do_not_know_is_refused_as_before(app):
    @app.task(max_attempts=1)
    async def odd() -> dict[str, Any]:
        return {"price": Decimal("1")}

    task = await odd.enqueue()
    await drain(app)
    with pytest.raises(TaskFailed, match="Decimal is not JSON serializable"):
        await task.result(1)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (object, math.inf),
        (list[Decimal | float], [Decimal("1"), math.nan]),
        (Measured, Measured(metres=math.nan)),
        (dict[int, Measured], {1: Measured(metres=math.inf)}),
    ],
)
async def test_a_number_that_json_has_no_word_for_is_refused_whatever_the_annotation(app, annotation, value):
    async def give() -> None:
        return value

    give.__annotations__["return"] = annotation
    task = await app.task(max_attempts=1)(give).enqueue()
    await drain(app)
    with pytest.raises(TaskFailed, match="is NaN or infinite"):
        await task.result(1)


def test_annotations_that_json_keeps_as_they_are_cost_nothing(app):
    async def give() -> None: ...

    for annotation in (int, str, float, bool, None, dict, list, Any, dict[str, int], list[dict[str, Any]], str | None):
        give.__annotations__["return"] = annotation
        task = app.task(name=str(annotation))(give)
        assert task.pipeline.first.returns.plain, annotation


def test_a_return_annotation_that_nobody_can_check_is_left_alone(app):
    class Odd:
        pass

    async def give() -> Odd: ...

    async def unresolved() -> "Nowhere": ...  # noqa: F821

    assert app.task()(give).pipeline.first.returns.plain
    assert app.task()(unresolved).pipeline.first.returns.plain
