"""`penstock demo` beside a real `penstock up`."""

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg
import orjson

from penstock.extensions.linking.record import RecordState
from tests.cli.conftest import Background, Call

Start = Callable[..., Background]
REVIEW = int(RecordState.REVIEW)


async def test_the_world_is_filled_in_once_and_taken_away_again(start: Start, call: Call, database_url: str) -> None:
    up = start("up", "-o", "json", "--port", "0", database_url=database_url)
    up.announced()
    connection = await asyncpg.connect(database_url)
    try:
        for _ in range(2):  # the second call finds everything there
            shown = call("demo", "--size", "200", "--seconds", "1", "-o", "json", database_url=database_url)
            assert shown.returncode == 0, shown.stderr
            assert "job" in orjson.loads(shown.stdout)["catalogue"]
        pauses = "select count(*) from penstock.audit where action = 'stage.pause' and actor like 'cli:%'"
        assert await connection.fetchval(pauses) == 2
        assert await counted(connection) == {"jobs": 9, "articles": 300, "projects": 1, "products": 300}
        rows = await until(call, database_url, "Spring assortment", lambda counts: counts["error"] == 3)
        assert (rows["done"] > 180, rows["skipped"], rows["total"]) == (True, 2, 200), rows
        sites = await until(call, database_url, "Businesses of three towns", lambda counts: counts["done"] == 10)
        assert sites["total"] == 12, sites  # one must not be read, and one is asked again later
        await until_scored(connection)
        shown = call("demo", "--remove", database_url=database_url)
        assert (shown.returncode, "stay while" in shown.stderr) == (0, True), shown.stderr
        assert await counted(connection) == {"jobs": 0, "articles": 0, "projects": 0, "products": 0}
        assert await connection.fetchval("select count(*) from penstock.limits where rate is not null") == 0
        users = "select count(*) from penstock.users where name like 'demo%' and disabled_at is not null"
        assert await connection.fetchval(users) == 2
        up.interrupt()
        assert up.ended() == 0, up.stderr
        removed = call("demo", "--remove", "-o", "json", database_url=database_url)
        assert removed.returncode == 0, removed.stderr
        assert "heartbeat" in orjson.loads(removed.stdout)["schedules"]
    finally:
        await connection.close()


def test_a_worker_without_the_made_up_places_is_refused_with_what_to_start(
    start: Start, call: Call, database_url: str
) -> None:
    start("worker", "--app", "penstock_demo.showcase:app", "-o", "json", database_url=database_url).announced()
    refused = call("demo", database_url=database_url)
    assert (refused.returncode, "next: penstock up" in refused.stderr) == (4, True), refused.stderr


async def counted(connection: Any) -> dict[str, int]:
    """What people see of it."""
    asked = {
        "jobs": "select count(*) from penstock.jobs where deleted_at is null and pipeline not like 'linking%'",
        "articles": "select count(*) from article_search.articles where owner = 'demo'",
        "projects": "select count(*) from record_linking.projects where owner = 'admin' and deleted_at is null",
        "products": "select count(*) from catalogue.products",
    }
    return {name: await connection.fetchval(sql) for name, sql in asked.items()}


async def until(call: Call, database_url: str, name: str, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The counts of the job, once they are so."""
    async with asyncio.timeout(90):
        while True:
            jobs = orjson.loads(call("jobs", "list", "-o", "json", database_url=database_url).stdout)["items"]
            counts = next(job["counts"] for job in jobs if job["name"] == name)
            if enough(counts):
                return counts
            await asyncio.sleep(0.2)


async def until_scored(connection: Any) -> None:
    """Some people are found, and some are left to whoever reviews."""
    async with asyncio.timeout(60):
        while await connection.fetchval(f"select count(*) from record_linking.records where state = {REVIEW}") < 10:
            await asyncio.sleep(0.2)
