import typer

from penstock.terminal.command import command
from penstock.terminal.session import Session


def register(app: typer.Typer) -> None:
    @command(app)
    async def count(session: Session) -> None:
        """How many letters there are."""
        async with session.connection() as connection:
            number = await connection.fetchval("select count(*) from letters.letters")
        session.out.show({"letters": number}, f"{number} letters")

    @command(app)
    async def write(session: Session, to: str) -> None:
        """Enqueue a letter."""
        task = await (await session.serving_app()).enqueue("letters.write", {"to": to})
        session.out.show({"task": task.id}, f"task {task.id}")
