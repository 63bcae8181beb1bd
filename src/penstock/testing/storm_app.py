"""What the kill storm runs: short tasks that leave their trace in the double ledger.

A few at a time per runner: it is about what a fault costs, not about how much can be running when it hits.
"""

import asyncio

from penstock.application import Penstock
from penstock.core.context import Context
from penstock.core.retry import RetryPolicy
from penstock.testing.ledger import Pen

app = Penstock("storm")
pen = Pen()
_SOON = RetryPolicy(base_seconds=0.1)


@app.task(retry=_SOON, max_attempts=20, pool=4)
async def short(ctx: Context, n: int) -> int:
    """A few milliseconds, then done."""
    pen.note(ctx, "start")
    await asyncio.sleep(0.002)
    pen.note(ctx, "end")
    return n


@app.task(retry=_SOON, max_attempts=20, pool=4)
async def effect(ctx: Context, n: int) -> int:
    """Writes a row in the transaction that settles it: there must be exactly one in the end."""
    pen.note(ctx, "start")
    async with ctx.transaction() as transaction:
        await pen.write(transaction.connection, ctx, "effect")
        transaction.result = n
    return n
