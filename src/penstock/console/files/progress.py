"""How far a job's file is stored, for whoever waits for it."""

from penstock.application import Penstock
from penstock.storage import imports
from penstock.storage.imports import Import


async def import_of(app: Penstock, job_id: int) -> Import | None:
    """None: the job was not made from a file."""
    async with app.connection() as connection:
        return await imports.get(connection, job_id)
