"""A small shop's background work: what `penstock up` runs when no application is named. Needs no network.

Each task shows one thing: quick work, progress, failures that heal, failures that do not, a pipeline, a schedule.
"""

import asyncio
import random
from datetime import UTC, datetime
from typing import Any

from penstock.application import Penstock
from penstock.core.context import Context
from penstock.errors import PermanentError, TransientError
from penstock.model import NotFound

app = Penstock("demo")

# The key of its limit.
SUPPLIER = "demo supplier"


def install(into: Penstock) -> None:
    """Declare all of it in another application, under the same names."""
    into.pipelines.update(app.pipelines)
    into.schedules.update(app.schedules)


_PRICES = {"oak-table": 420, "pine-chair": 65, "brass-lamp": 89, "wool-rug": 230, "linen-curtain": 48}


@app.task()
async def send_receipt(order: int) -> dict[str, Any]:
    """Quick: most background work looks like this."""
    await asyncio.sleep(random.uniform(0.005, 0.05))
    return {"order": order, "message": f"receipt for order {order} sent"}


@app.task(pool=4)
async def build_report(ctx: Context, pages: int = 20) -> dict[str, Any]:
    """Slow, and says how far it is."""
    for page in range(1, pages + 1):
        await ctx.sleep(random.uniform(0.05, 0.15))
        ctx.progress(page, pages, f"page {page}")
    return {"pages": pages}


@app.task()
async def check_stock(sku: str) -> dict[str, Any] | NotFound:
    """Asks an unreliable supplier: a third of the calls fail and are tried again, some articles do not exist."""
    await asyncio.sleep(random.uniform(0.02, 0.1))
    if sku.startswith("unknown"):
        return NotFound(f"the supplier does not know {sku}")
    if sku.startswith("broken"):
        raise PermanentError(f"the supplier's record of {sku} has no stock field")
    if random.random() < 0.33:
        raise TransientError("the supplier did not answer in time")
    return {"sku": sku, "in_stock": random.randint(0, 40)}


@app.task()
async def ask_supplier(ctx: Context, sku: str) -> dict[str, Any]:
    """Rate-limited: the supplier takes two questions a second, so the others wait, and say for what."""
    await ctx.limiter(SUPPLIER).acquire()
    await asyncio.sleep(random.uniform(0.02, 0.1))
    return {"sku": sku, "days": random.randint(1, 21)}


@app.task()
async def print_label(order: int) -> dict[str, Any]:
    """The demonstration pauses this stage, with a reason; whoever resumes it gets the labels."""
    return {"order": order, "label": f"L-{order:06d}"}


import_order = app.pipeline("import_order")


@import_order.stage()
async def read(line: str) -> dict[str, Any]:
    """First stage: text in, an order out. Its result is kept, so a retry of the next stage starts there."""
    sku, _, amount = line.partition(" x ")
    if not amount.isdigit():
        raise PermanentError(f"{line!r} is not an order; write it as 'oak-table x 2'")
    return {"sku": sku.strip(), "amount": int(amount)}


@import_order.stage()
async def price(order: dict[str, Any]) -> dict[str, Any] | NotFound:
    """Second stage: takes what the first returned."""
    if order["sku"] not in _PRICES:
        return NotFound(f"nothing is sold as {order['sku']}")
    await asyncio.sleep(random.uniform(0.01, 0.05))
    return {**order, "total": order["amount"] * _PRICES[order["sku"]]}


@app.task()
async def heartbeat() -> str:
    """Fired by the schedule below, once a minute in the whole fleet."""
    return datetime.now(UTC).isoformat(timespec="seconds")


app.schedule("* * * * *", heartbeat, name="heartbeat", options={"unique_key": "heartbeat"})
