"""An application without extensions, as most are."""

from penstock import Penstock

app = Penstock("plain")


@app.task()
async def greet(name: str) -> str:
    return f"Hello {name}"
