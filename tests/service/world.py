"""Work of ann's in every state, so that the ids in tests are those of real objects."""

from dataclasses import dataclass
from typing import Any

from penstock.testing import drain
from tests.service.conftest import Service

# What an item ends with, by its first cell; see service_app.look_up. One more waits, and one is held by a worker.
CELLS = {"DONE": "lamp", "ERROR": "bad", "NOT_FOUND": "missing"}


@dataclass
class World:
    service: Service
    job_id: int
    items: dict[str, int]

    async def dead_letter(self, owner: str | None = "ann", message: str = "it cannot be looked up") -> int:
        """A fresh one, which nobody has replayed yet."""
        item = await self.service.app.enqueue("look_up", {"row": 1, "cells": [CELLS["ERROR"]]}, owner=owner)
        await drain(self.service.app, only=["look_up"])
        await self.service.fetch(
            "update penstock.outcomes set error = error || jsonb_build_object('message', $2::text) where task_id = $1",
            item.id,
            message,
        )
        return item.id

    async def waiting(self, owner: str | None = "ann") -> int:
        item = await self.service.app.enqueue("add", {"left": 1, "right": 2}, owner=owner, delay=3600)
        return item.id


async def make(service: Service, owner: str = "ann") -> World:
    look_up = service.app.pipelines["look_up"]
    from penstock.engine.enqueue import EnqueueOptions

    rows: list[dict[str, Any]] = [{"row": n, "cells": [cell]} for n, cell in enumerate(CELLS.values(), 1)]
    job = await service.app.store_many(look_up, rows, EnqueueOptions(owner=owner), name="world", metadata={})
    await drain(service.app)
    found = await service.fetch("select task_id, state from penstock.task_states where job_id = $1", job.id)
    world = World(service, job.id, {row["state"]: row["task_id"] for row in found})
    world.items["PENDING"] = await world.waiting(owner)
    world.items["PROCESSING"] = held = await world.waiting(owner)
    await service.fetch(
        """update penstock.queue set worker = 1, lease = nextval('penstock.lease_numbers') where task_id = $1""", held
    )
    world.items["CANCELLED"] = gone = await world.waiting(owner)
    await service.app.task_by_id(gone).cancel()
    return world
