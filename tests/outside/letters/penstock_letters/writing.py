from penstock import Penstock
from penstock_letters.settings import LettersSettings


def install(app: Penstock) -> None:
    @app.task(name="letters.write")
    async def write(to: str) -> str:
        text = f"{app.settings.of(LettersSettings).greeting} {to}"
        async with app.connection() as connection:
            await connection.execute("insert into letters.letters (text) values ($1)", text)
        app.events.emit("letters.written", to=to)
        return text
