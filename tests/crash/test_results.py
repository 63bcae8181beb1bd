"""Results and errors that cannot be stored. Their task ends with the reason; no other task suffers."""

import asyncio

import asyncpg
import pytest

from penstock import Penstock, State
from penstock.testing.ledger import FOLDER, Ledger
from penstock.workers.inprocess import worker
from tests.crash.crash_app import quick, raises, returns

WHY = {
    "nul": "NUL character",
    "nan": "NaN or infinite",
    "infinity": "NaN or infinite",
    "surrogate": "surrogates",
    "object": "not JSON serializable",
    "bytes": "bytes are not JSON",
    "large": "20,000,002 bytes of JSON; at most 16,777,216 are kept",
    "cycle": "ecursion",
}


@pytest.fixture(autouse=True)
def _ledger_here(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker of these tests lives in the process of the test."""
    monkeypatch.setenv(FOLDER, str(ledger.folder))


async def test_results_that_cannot_be_stored_end_as_errors_with_the_reason(
    app: Penstock, connection: asyncpg.Connection
) -> None:
    async with worker(app):
        tasks = {what: await returns.enqueue(what) for what in (*WHY, "fine")}
        neighbours = [await quick.enqueue(n) for n in range(20)]
        ends = {what: await task.wait(60) for what, task in tasks.items()}
        assert await asyncio.gather(*(task.result(60) for task in neighbours)) == list(range(20))
    assert ends.pop("fine")[0] is State.DONE
    for what, (state, _, error) in ends.items():
        assert state is State.ERROR, what
        assert error is not None
        assert error["class"] == "permanent", what
        assert WHY[what] in error["message"], error["message"]


async def test_errors_with_unstorable_text_are_stored_made_readable(app: Penstock) -> None:
    async with worker(app):
        tasks = {what: await raises.enqueue(what) for what in ("nul", "surrogate", "long")}
        ends = {what: await task.wait(60) for what, task in tasks.items()}
    messages = {what: (error or {})["message"] for what, (_, _, error) in ends.items()}
    assert messages["nul"] == "a\\0b"
    assert messages["surrogate"] == "\\udcff"
    assert len(messages["long"]) < 5000
    assert "characters left out" in messages["long"]


async def test_a_result_that_only_the_server_refuses_ends_its_own_task(
    app: Penstock, connection: asyncpg.Connection
) -> None:
    """jsonb refuses numbers that JSON allows; the batch it travels in is split until it stands alone."""
    await connection.execute(
        "create function penstock_testing.refuse() returns trigger language plpgsql as $$"
        " begin if new.result = '13' then raise numeric_value_out_of_range; end if; return new; end $$;"
        "create trigger refuse before insert on penstock.outcomes"
        " for each row execute function penstock_testing.refuse()"
    )
    async with worker(app):
        tasks = [await quick.enqueue(n) for n in range(40)]
        ends = [await task.wait(60) for task in tasks]
    refused = ends.pop(13)
    assert refused[0] is State.ERROR
    assert "could not be stored" in (refused[2] or {})["message"]
    assert {state for state, _, _ in ends} == {State.DONE}
