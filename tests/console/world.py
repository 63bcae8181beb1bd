"""Work of ann's in every state, so that the ids in tests are those of real objects."""

import secrets
from dataclasses import dataclass
from typing import Any

from penstock.core.enqueue import EnqueueOptions
from penstock.testing import drain
from tests.console.conftest import Service

# What an item ends with, by its first cell; see service_app.look_up. Further ones wait, run and were cancelled.
CELLS = {"DONE": "lamp", "ERROR": "bad", "NOT_FOUND": "missing"}

# What an image of somebody's holds: the beginning of a PNG, then the owner's name.
IMAGE = b"\x89PNG\r\n\x1a\n, a secret of "


@dataclass
class World:
    service: Service
    job_id: int
    items: dict[str, int]
    # An analysis of one site, which ended well.
    analysis_id: int = 0
    site_id: int = 0
    limit_key: str = "world"
    # The last one that was made: for bodies that name it.
    source_name: str = ""

    async def job(self, owner: str = "ann") -> int:
        """One that waits."""
        return await _job(self.service, owner)

    async def dead_letter(self, owner: str | None = "ann", message: str = "it cannot be looked up") -> int:
        """A fresh one, which nobody has replayed yet. Stored as it would be, without running all that waits."""
        item = await self.service.app.enqueue("look_up", {"row": 1, "cells": [CELLS["ERROR"]]}, owner=owner)
        await self.service.fetch(
            """with gone as (delete from penstock.queue where task_id = $1 returning task_id, lane, stage),
               counted as (insert into penstock.counts (lane, stage, state, n) select lane, stage, 3, 1 from gone)
               insert into penstock.outcomes (task_id, lane, stage, status, attempts, run, error)
               select task_id, lane, stage, 3, 1, 1, jsonb_build_object(
                   'type', 'PermanentError', 'class', 'permanent', 'where', 'shop.py:12 look_up', 'message', $2::text)
               from gone""",
            item.id,
            message,
        )
        return item.id

    async def image(self, owner: str = "ann", name: str = "lamp.png") -> tuple[int, int]:
        """A job with one image that waits to be shown: the file and the item."""
        client = await self.service.client(owner)
        fields = {"file": (name, IMAGE + owner.encode(), "image/png")}
        answer = await client.post("/api/jobs", files=fields, data={"pipeline": "show"})
        assert answer.status_code == 202, answer.text
        body = answer.json()
        (row,) = await self.service.fetch("select id from penstock.tasks where job_id = $1", body["jobId"])
        return body["fileId"], row["id"]

    async def selection(self) -> int:
        """One of ann's, of the item that was not found."""
        ann = await self.service.client("ann")
        answer = await ann.post("/api/selections", json={"itemIds": [self.items["NOT_FOUND"]]})
        assert answer.status_code == 201, answer.text
        selection_id: int = answer.json()["selectionId"]
        return selection_id

    async def dead_message(self, raw: bytes = b"no envelope") -> int:
        """As a relay brings it home; its queue is none that is known here."""
        (row,) = await self.service.fetch(
            """insert into penstock.dead_messages (transport, queue, raw, reason, deliveries, digest, token)
               values ('redis', 'elsewhere', $1, 'it is no JSON', 1, sha256($1), gen_random_uuid()::text)
               returning id""",
            raw,
        )
        number: int = row["id"]
        return number

    async def waiting(self, owner: str | None = "ann") -> int:
        item = await self.service.app.enqueue("add", {"left": 1, "right": 2}, owner=owner, delay=3600)
        return item.id

    async def schedule(self) -> str:
        await self.service.fetch(
            """insert into penstock.schedules (name, cron, pipeline, input, next_fire_at)
               values ('nightly', '0 3 * * *', 'add', '{"left": 1, "right": 2}', now() + interval '1 hour')
               on conflict do nothing"""
        )
        return "nightly"

    async def token(self) -> int:
        """Another one of ann's."""
        (row,) = await self.service.fetch(
            """insert into penstock.tokens (user_id, name, hash, hint)
               select id, 'more', $1, 'more' from penstock.users where name = 'ann' returning id""",
            secrets.token_bytes(32),
        )
        token_id: int = row["id"]
        return token_id

    async def session(self) -> int:
        """Another browser of ann's."""
        (row,) = await self.service.fetch(
            """insert into penstock.sessions (user_id, hash, expires_at)
               select id, $1, now() + interval '1 hour' from penstock.users where name = 'ann' returning id""",
            secrets.token_bytes(32),
        )
        session_id: int = row["id"]
        return session_id

    @property
    def folder(self) -> str:
        """One that files may be read from; see PENSTOCK_FILE_ROOTS."""
        return str(self.service.app.settings.file_roots[0])

    async def source(self) -> str:
        self.source_name = name = self.new_name()
        await self.service.fetch(
            """insert into penstock.sources (name, kind, place, pattern, owner, pipeline, stable_seconds, created_by)
               values ($1, 'folder', jsonb_build_object('path', $2::text), '*', 'ann', 'look_up', 5, 'root')""",
            name,
            self.folder,
        )
        return name

    async def catalogue(self) -> tuple[int, int]:
        """A list of ann's with one product that waits: the job and the item."""
        body = {"pipeline": "catalogue", "items": [{"title": self.new_name()}]}
        answer = await (await self.service.client("ann")).post("/api/jobs", json=body)
        assert answer.status_code == 202, answer.text
        job_id: int = answer.json()["jobId"]
        (row,) = await self.service.fetch("select id from penstock.tasks where job_id = $1", job_id)
        item_id: int = row["id"]
        return job_id, item_id

    async def article(self) -> str:
        """One of ann's that nobody else may see, as its route stores it, and without a task that would run later."""
        ann = await self.service.client("ann")
        body = {"title": self.new_name(), "content": "Lamps give light.", "skipEmbedding": True}
        answer = await ann.post("/api/articles", json=body)
        assert answer.status_code == 201, answer.text
        slug: str = answer.json()["slug"]
        return slug

    async def generation(self) -> int:
        """An index beside the first one, which may be dropped."""
        (row,) = await self.service.fetch(
            """insert into article_search.generations (name, embedder, model, dimensions, chunker, state, created_by)
               select $1, embedder, model, dimensions, chunker, 'ready', 'root'
               from article_search.generations where id = 1 returning id""",
            self.new_name(),
        )
        made: int = row["id"]
        await self.service.fetch(
            f"create table article_search.vectors_{made} (like article_search.vectors_1 including all)"
        )
        return made

    async def saved_query(self) -> int:
        """Another one of ann's."""
        (row,) = await self.service.fetch(
            "insert into article_search.saved_queries (owner, query) values ('ann', $1) returning id", self.new_name()
        )
        query_id: int = row["id"]
        return query_id

    async def project(self) -> int:
        """One of ann's, whose records wait to be matched."""
        ann = await self.service.client("ann")
        answer = await ann.post("/api/projects", json={"name": self.new_name(), "rows": [{"name": "Ada"}]})
        assert answer.status_code == 201, answer.text
        project_id: int = answer.json()["projectId"]
        return project_id

    async def decided_project(self) -> int:
        """One with a decision that can be undone."""
        project_id = await self.project()
        answer = await (await self.service.client("ann")).post(f"/api/projects/{project_id}/records/1/reject")
        assert answer.status_code == 200, answer.text
        return project_id

    async def user(self) -> str:
        name = self.new_name()
        await self.service.add_user(name, "viewer")
        return name

    def new_name(self) -> str:
        return f"user-{secrets.token_hex(4)}"

    async def fresh_limit(self) -> None:
        await self.service.fetch(
            "insert into penstock.limits (key, rate) values ($1, 5) on conflict (key) do update set rate = 5",
            self.limit_key,
        )


async def make(service: Service, owner: str = "ann") -> World:
    job_id = await _job(service, owner)
    analysis = await _analysis(service, owner)
    await drain(service.app)
    found = await service.fetch("select task_id, state from penstock.task_states where job_id = $1", job_id)
    (site,) = await service.fetch("select id from penstock.tasks where job_id = $1", analysis)
    states = {row["state"]: row["task_id"] for row in found}
    world = World(service, job_id, states, analysis_id=analysis, site_id=site["id"])
    world.items["PENDING"] = await world.waiting(owner)
    world.items["PROCESSING"] = held = await world.waiting(owner)
    await service.fetch(
        """update penstock.queue set worker = 1, lease = nextval('penstock.lease_numbers') where task_id = $1""", held
    )
    world.items["CANCELLED"] = gone = await world.waiting(owner)
    await service.app.task_by_id(gone).cancel()
    return world


async def _job(service: Service, owner: str) -> int:
    look_up = service.app.pipelines["look_up"]
    rows: list[dict[str, Any]] = [{"row": n, "cells": [cell]} for n, cell in enumerate(CELLS.values(), 1)]
    options = EnqueueOptions(owner=owner)
    job = await service.app.store_many(look_up, rows, options, name="world", metadata={"columns": ["Name"]})
    return job.id


async def _analysis(service: Service, owner: str) -> int:
    options = EnqueueOptions(owner=owner)
    rows = [{"url": "https://bicycles.example/"}]
    job = await service.app.store_many(service.app.pipelines["sites"], rows, options, name="bicycles", metadata={})
    return job.id
