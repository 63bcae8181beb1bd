"""Another application with a task of the same name as one of ``serving_app``."""

from penstock import Penstock

app = Penstock("namesake")


@app.task()
async def add(a: int, b: int) -> int:
    return a - b
