"""What is kept of a site, for how long, and that it comes back as it was."""

from dataclasses import replace
from typing import Any

from penstock import Penstock
from penstock.config import load
from penstock.control import limits
from penstock.extensions.sites import pages, stages
from penstock.extensions.sites.fetch.fetched import Fetched, KeptFetcher, failed

PAGE = Fetched(
    kind="page",
    url="https://bakery.example/",
    final_url="https://www.bakery.example/",
    status=200,
    headers={"content-type": "text/html; charset=latin-1", "x-odd": "é"},
    body=bytes(range(256)) * 10,
)
ROBOTS = Fetched(kind="robots", url="https://bakery.example/robots.txt", final_url="", status=404, headers={}, body=b"")


async def test_pages_come_back_as_they_were_and_in_order(connection: Any) -> None:
    given = [ROBOTS, PAGE, failed("https://bakery.example/x", "There is no page.")]
    await pages.keep(connection, 7, 1, given)
    assert await pages.kept(connection, 7) == given
    assert await pages.kept(connection, 8) == []
    assert await KeptFetcher(given).get(PAGE.url, kind="page") == PAGE


async def test_the_newest_run_that_fetched_anything_counts(connection: Any) -> None:
    later = replace(PAGE, body=b"later")
    await pages.keep(connection, 7, 2, [later])
    await pages.keep(connection, 7, 1, [ROBOTS, PAGE])
    assert await pages.kept(connection, 7) == [later]


async def test_a_second_attempt_of_a_run_replaces_what_the_first_kept(connection: Any) -> None:
    await pages.keep(connection, 7, 1, [ROBOTS, PAGE, PAGE])
    await pages.keep(connection, 7, 1, [PAGE])
    assert await pages.kept(connection, 7) == [PAGE]


async def test_old_pages_are_swept_in_batches_and_young_ones_stay(connection: Any) -> None:
    await pages.keep(connection, 7, 1, [PAGE] * 5)
    await connection.execute("update website_analysis.pages set fetched_at = now() - interval '3 days'")
    await pages.keep(connection, 8, 1, [PAGE])
    assert await pages.sweep(connection, 4.0) == 0
    assert await pages.sweep(connection, 2.0, most=2) == 2
    assert await pages.sweep(connection, 2.0) == 3
    assert await pages.kept(connection, 8) == [PAGE]


async def test_upkeep_removes_old_pages_and_limits_of_hosts_nobody_asks(database_url: str) -> None:
    app = Penstock("test", settings=load(database_url=database_url, sites_keep_days=1.0))
    stages.install_upkeep(app)
    assert "sites.forget" in app.schedules
    await app.open()
    try:
        async with app.connection() as connection:
            await pages.keep(connection, 7, 1, [PAGE] * 3)
            await connection.execute("update website_analysis.pages set fetched_at = now() - interval '2 days'")
        for key in ("host:old.example", "host:used.example", "host:blocked.example", "hosts", "wikidata"):
            await limits.configure(app, key, 1.0, by="test")
        async with app.connection() as connection:
            await connection.execute(
                "update penstock.limits set updated_at = now() - interval '2 days', tat = now() - interval '2 days'"
            )
            await connection.execute("update penstock.limits set tat = now() where key = 'host:used.example'")
        await limits.block(app, "host:blocked.example", 60, by="test")
        assert await stages.forget_old(app) == {"pages": 3, "leftovers": 0, "limits": 1}
        left = {view.key for view in await limits.listing(app)}
        assert left == {"host:used.example", "host:blocked.example", "hosts", "wikidata"}
        async with app.connection() as connection:
            assert await pages.kept(connection, 7) == []
    finally:
        await app.close()
