"""`penstock bench pages`: do lists stay quick? The item page and the pending page of a small and of a large job.

Asked over the service's own routes, in turn, so that both meet the same machine. Pages are followed to random depths:
a list that is quick only at its beginning would not do.
"""

import random
import secrets
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx2

from penstock.console.http.actor import hashed
from penstock.console.http.app import create
from penstock.console.http.server import configure_logs
from penstock.console.storage import tokens, users
from penstock.storage import jobs, lanes
from penstock.terminal.session import Session
from penstock_bench import statements as bench
from penstock_bench.figures import Goal, Rounds, machine, median, percentile, tell
from penstock_bench.ground import Ground, Site, opened

_CHUNK = 100_000
_DEPTH = 10
GOALS = (
    Goal(key="ratio", most=1.5, meaning="The slowest pages of a large job, against those of a job of 10,000 rows."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    small: int = 10_000
    large: int = 10_000_000
    requests: int = 200
    rounds: int = 5
    seconds: float | None = None


FULL = Sizes()
QUICK = Sizes(large=1_000_000, requests=60, rounds=3, seconds=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A user with one job."""

    job: int
    client: httpx2.AsyncClient

    def path(self, kind: str) -> str:
        return f"/api/jobs/{self.job}/items?pageSize=50" if kind == "items" else "/api/pending?pageSize=50"


async def pages(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        configure_logs(ground.settings)
        figures = await measure(ground, sizes)
    tell(session, figures, figures["rounds"], GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    async with ground.site() as site, AsyncExitStack() as stack:
        where = await machine(site.connection)
        api = create(site.app)
        await stack.enter_async_context(api.router.lifespan_context(api))
        small = await _owner(site, api, stack, "small", sizes.small)
        large = await _owner(site, api, stack, "large", sizes.large)
        await bench.settle_down(site.connection)
        rounds: list[dict[str, float]] = []
        for number in Rounds(sizes.rounds, ground.until(sizes.seconds)):
            rounds.append(await _round(small, large, sizes.requests))
            ground.tell(f"round {number} of {sizes.rounds}: " + ", ".join(f"{n} {v}" for n, v in rounds[-1].items()))
    worst = {
        kind: round(median(one[f"large_{kind}_p95_ms"] / one[f"small_{kind}_p95_ms"] for one in rounds), 3)
        for kind in ("items", "pending")
    }
    return {
        "ratio": max(worst.values()),
        "items_ratio": worst["items"],
        "pending_ratio": worst["pending"],
        **{name: round(median(one[name] for one in rounds), 2) for name in rounds[0]},
        "small_rows": sizes.small,
        "large_rows": sizes.large,
        "rounds": rounds,
        "machine": where,
    }


async def _owner(site: Site, api: Any, stack: AsyncExitStack, name: str, rows: int) -> Owner:
    """A user, a token, and a job with that many rows."""
    token = secrets.token_urlsafe(32)
    connection = site.connection
    user = await users.create(connection, name=name, role="operator")
    assert user is not None
    await tokens.create(connection, user_id=user.id, name="bench", hash=hashed(token), hint=token[:8], expires_at=None)
    metadata = '{"type": "csv", "columns": ["SKU", "Title", "Brand", "GTIN", "Price", "Currency", "URL", "Category"]}'
    job, _ = await jobs.create(
        connection, pipeline="noop", name=name, owner=name, idempotency_key=None, metadata=metadata
    )
    lane = await lanes.open_lane(connection, pipeline="noop", key=f"job:{job}", priority=0, owner=name, job_id=job)
    stage = await bench.stage(connection, "noop")
    for first in range(0, rows, _CHUNK):
        count = min(_CHUNK, rows - first)
        await bench.fill_job(connection, stage=stage, job=job, owner=name, lane=lane, first=first, count=count)
        if first and first % 1_000_000 == 0:
            site.ground.tell(f"filled {first:,} of {rows:,} rows")
    client = httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=api),
        base_url="http://bench",
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
    )
    return Owner(job=job, client=await stack.enter_async_context(client))


async def _round(small: Owner, large: Owner, requests: int) -> dict[str, float]:
    took: dict[str, list[float]] = {
        f"{size}_{kind}": [] for size in ("small", "large") for kind in ("items", "pending")
    }
    for _ in range(requests // _DEPTH):
        for kind in ("items", "pending"):
            for size, owner in (("small", small), ("large", large)):
                took[f"{size}_{kind}"] += await _walk(owner, owner.path(kind), random.randint(1, 2 * _DEPTH))
    return {f"{name}_p95_ms": round(percentile(values, 0.95), 2) for name, values in took.items()}


async def _walk(owner: Owner, path: str, depth: int) -> list[float]:
    """Page after page; how long each took."""
    took: list[float] = []
    after = ""
    for _ in range(depth):
        started = time.monotonic()
        answer = await owner.client.get(path + after)
        took.append((time.monotonic() - started) * 1000)
        answer.raise_for_status()
        cursor = answer.json()["nextCursor"]
        if cursor is None:
            break
        after = f"&after={cursor}"
    return took
