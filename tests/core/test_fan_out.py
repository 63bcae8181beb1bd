"""Ten thousand tasks in one call, written in two statements. How long that takes says `penstock bench enqueue`."""

from collections.abc import Sequence
from typing import Any

import pytest

from penstock import Penstock
from penstock.core.enqueue import COPY_FROM
from penstock.storage import tasks
from penstock.storage.tasks import Batch

_ROWS = 10_000


async def test_ten_thousand_tasks_with_a_callback_are_accepted_in_one_call(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[int] = []
    copy = tasks.copy_many

    async def noted(connection: Any, batch: Batch, inputs: Sequence[str]) -> int:
        copied.append(len(inputs))
        return await copy(connection, batch, inputs)

    monkeypatch.setattr(tasks, "copy_many", noted)

    @app.task()
    async def row(n: int, label: str) -> int:
        return n

    @app.task()
    async def together(job: int, counts: dict[str, int]) -> None:
        return None

    job = await row.enqueue_many([{"n": n, "label": f"row {n}"} for n in range(_ROWS)], then=together)
    assert job.count == _ROWS
    assert (await job.counts()).pending == _ROWS
    assert copied == [COPY_FROM, _ROWS - COPY_FROM]
