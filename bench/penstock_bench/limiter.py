"""`penstock bench limiter`: do four processes together keep a limit, use it, and stop when they are told to?

The processes use limiters as handlers do, without a queue behind them: 500 callers always want a permit, ten times what
the limit grants in a second, and whoever is sent back sleeps as its task would. The called side is a ledger by the one
monotonic clock of the machine. The budget begins empty, so that the burst is there for what it is meant for: calls that
come late. Both stores are measured where there is a Redis.
"""

import asyncio
import secrets
import shutil
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import asyncpg
import orjson

from penstock.brokers.redis.budgets import RedisBudgets
from penstock.events import Events
from penstock.limits.budgets import redis_url
from penstock.storage import limits
from penstock.terminal.session import Session
from penstock.testing.brokers import free_port
from penstock_bench.figures import Goal, machine, tell
from penstock_bench.ground import Ground, Site, opened
from penstock_bench.limiter_caller import KEY, Plan
from penstock_bench.limiter_marks import after_refusal, use, windows_over_limit

# All processes are ready, and begin together after this.
_BEGIN_SECONDS = 0.3
_REDIS_STARTS_SECONDS = 60.0
# On a busy machine the process that is to be refused may get no turn in time.
_TRIES = 3
GOALS = (
    Goal(key="windows_over_limit", most=0, meaning="Windows of a second with more calls than burst + rate."),
    Goal(key="use", least=0.98, meaning="Calls, to what the limit allows."),
    Goal(key="early_calls", most=0, meaning="Calls of any process before the Retry-After of an answer 429 was over."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``line_seconds``: how much further than the others one process is from the store in the second part."""

    rate: float = 50.0
    burst: int = 10
    processes: int = 4
    demand: int = 500
    seconds: float = 20.0
    retry_after_seconds: int = 3
    afterwards_seconds: float = 3.0
    line_seconds: float = 0.1
    uneven_seconds: float = 10.0


FULL = Sizes()
QUICK = Sizes(seconds=5.0, afterwards_seconds=1.0, uneven_seconds=4.0)


async def limiter(session: Session, sizes: Sizes) -> None:
    async with opened(session.settings, session.out.say) as ground:
        figures = await measure(ground, sizes)
    stores = [figures, *([figures["redis"]] if isinstance(figures.get("redis"), dict) else [])]
    rows = [
        {name: one[name] for name in ("store", "calls", *(goal.key for goal in GOALS), "far_share")} for one in stores
    ]
    tell(session, figures, rows, GOALS)


async def measure(ground: Ground, sizes: Sizes) -> dict[str, Any]:
    async with ground.site() as site, _redis(ground) as url:
        where = await machine(site.connection)
        chosen = "redis" if redis_url(ground.settings) else "postgres"
        found: dict[str, dict[str, Any]] = {}
        for store in ("postgres", "redis") if url else ("postgres",):
            ground.tell(f"{sizes.processes} processes at a limit of {sizes.rate:g}/s counted in {store}")
            found[store] = await _store(site, sizes, url if store == "redis" else None)
    other = {name: figures for name, figures in found.items() if name != chosen}
    return {**found[chosen], **other, **asdict(sizes), "machine": where}


async def _store(site: Site, sizes: Sizes, url: str | None) -> dict[str, Any]:
    await limits.remove(site.connection, KEY)
    await limits.configure(site.connection, KEY, sizes.rate, sizes.burst)
    prefix = f"penstock-bench-{secrets.token_hex(4)}"
    if url is not None:
        await _settle_on_redis(site, url, prefix)
    refuse_after = sizes.seconds + 1.0
    plan = Plan(
        database_url=site.url,
        redis_url=url,
        prefix=prefix,
        callers=sizes.demand // sizes.processes,
        seconds=refuse_after + sizes.retry_after_seconds + sizes.afterwards_seconds,
        retry_after_seconds=sizes.retry_after_seconds,
    )
    plans = [replace(plan, refuse_after_seconds=refuse_after), *[plan] * (sizes.processes - 1)]
    for _ in range(_TRIES):
        told = await _run(site, plans)
        if (refused_at := told[0]["refused_at"]) is not None:
            break
    else:
        raise RuntimeError(
            f"The first process made no call after the time of the 429, in {_TRIES} runs. Is this machine busy?"
        )
    calls = sorted(call for one in told for call in one["calls"])
    return {
        "store": "postgres" if url is None else "redis",
        "windows_over_limit": windows_over_limit(calls, rate=sizes.rate, burst=sizes.burst),
        "use": round(use(calls, rate=sizes.rate, seconds=sizes.seconds), 4),
        **after_refusal(calls, refused_at, sizes.retry_after_seconds),
        "calls": len(calls),
        "sent_back": sum(one["sent_back"] for one in told),
        **await _uneven(site, plan, sizes),
    }


async def _uneven(site: Site, plan: Plan, sizes: Sizes) -> dict[str, Any]:
    """One process is far from the store: does it get its share, and does the limit still hold?"""
    plan = replace(plan, seconds=sizes.uneven_seconds)
    far = replace(plan, line_seconds=sizes.line_seconds)
    told = await _run(site, [far, *[plan] * (sizes.processes - 1)])
    calls = [call for one in told for call in one["calls"]]
    return {
        "far_share": round(len(told[0]["calls"]) * sizes.processes / max(len(calls), 1), 3),
        "uneven_use": round(use(calls, rate=sizes.rate, seconds=sizes.uneven_seconds), 4),
        "uneven_windows_over_limit": windows_over_limit(calls, rate=sizes.rate, burst=sizes.burst),
    }


async def _run(site: Site, plans: Sequence[Plan]) -> list[dict[str, Any]]:
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "penstock_bench.limiter_caller",
            orjson.dumps(asdict(plan)).decode(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for plan in plans
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            await process.stdout.readline()
        await limits.penalise(site.connection, KEY, _BEGIN_SECONDS, "the bench begins")
        begin = f"{time.monotonic() + _BEGIN_SECONDS}\n".encode()
        answers = await asyncio.gather(*(process.communicate(begin) for process in processes))
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return [orjson.loads(out) for out, _ in answers]


async def _settle_on_redis(site: Site, url: str, prefix: str) -> None:
    async with asyncpg.create_pool(site.url, min_size=1, max_size=1) as pool:
        budgets = RedisBudgets(pool, url, prefix=prefix, events=Events())
        try:
            await budgets.prefer_redis()
        finally:
            await budgets.close()


@asynccontextmanager
async def _redis(ground: Ground) -> AsyncIterator[str | None]:
    """The given one, or one of its own on a private port. None: there is none on this machine."""
    if ground.settings.redis_url is not None:
        yield ground.settings.redis_url.get_secret_value()
        return
    program = shutil.which("redis-server")
    if program is None:
        ground.tell("no redis-server on this machine: only PostgreSQL is measured")
        yield None
        return
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(program, "--port", str(port), "--bind", "127.0.0.1", "--dir", _folder(ground), "--save", ""),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        await _until_listening(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        await process.wait()


def _folder(ground: Ground) -> str:
    folder = Path(ground.folder) / "redis"
    folder.mkdir()
    return str(folder)


async def _until_listening(port: int) -> None:
    async with asyncio.timeout(_REDIS_STARTS_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            await writer.wait_closed()
            return
