"""An application with the catalogue on a database of its own, and what the tests ask it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from penstock import Penstock
from penstock.config import load
from penstock.extensions import catalogue
from penstock.extensions.catalogue import products_import
from penstock.extensions.catalogue.offer import PIPELINE
from penstock.extensions.catalogue.understood import Understood, check_digit


class World:
    def __init__(self, database_url: str, **settings: Any) -> None:
        self.app = Penstock("test", settings=load(database_url=database_url, **settings))
        self.enricher = catalogue.install(self.app)

    async def __aenter__(self) -> "World":
        await self.app.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.enricher.close()
        await self.app.close()

    async def know(self, *products: Understood) -> None:
        done = await products_import.store(self.app, enumerate(products, start=1), strict=True)
        assert done.created == len(products)

    async def submit(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "csv", **options: Any
    ) -> int:
        metadata = {"type": kind, "columns": list(columns), "options": options}
        inputs = [{"row": number, "cells": list(cells)} for number, cells in enumerate(rows, start=1)]
        return await self.submit_inputs(inputs, metadata)

    async def submit_inputs(self, inputs: list[dict[str, Any]], metadata: dict[str, Any]) -> int:
        pipeline = self.app.pipelines[PIPELINE]
        from penstock.core.enqueue import EnqueueOptions

        job = await self.app.store_many(pipeline, inputs, EnqueueOptions(), name=None, metadata=metadata)
        return job.id

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        async with self.app.connection() as connection:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows

    async def outcomes(self, job_id: int) -> list[dict[str, Any]]:
        """In the order of the rows: status, result, error."""
        import json

        rows = await self.fetch(
            "select status, result, error from penstock.outcomes where job_id = $1 order by task_id",
            job_id,
        )
        decoded = []
        for row in rows:
            found = dict(row)
            for name in ("result", "error"):
                if isinstance(found[name], str):
                    found[name] = json.loads(found[name])
            decoded.append(found)
        return decoded

    async def asked(self, job_id: int) -> Counter[tuple[str, str, bool | None, int]]:
        """(provider, kind of question, hit, attempt) → how often."""
        rows = await self.fetch("select * from catalogue.search_events where job_id = $1", job_id)
        return Counter((row["provider"], row["query"].split()[0], row["hit"], row["attempt"]) for row in rows)


def gtin(number: int) -> str:
    digits = f"4{number:011d}"
    return f"0{digits}{check_digit(digits)}"
