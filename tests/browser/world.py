"""A running instance, its users, and the ways of a test to it besides the browser."""

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import orjson
from playwright._impl._api_structures import SetCookieParam

from penstock import Penstock
from penstock.config import load
from penstock.console.http.actor import COOKIE, hashed
from penstock.console.http.listening import bind
from penstock.console.people import accounts
from penstock.console.storage import tokens, users
from tests.cli.conftest import Background, environment
from tests.warm import warm_starts

# "admin" is the one that `penstock up` makes where nobody is there.
USERS = {"admin": "admin", "root": "admin", "ann": "operator", "bob": "operator", "eve": "viewer"}


class World:
    """``start`` and ``stop`` as often as one likes: the address stays."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder
        self._up: Background | None = None
        self._starts = 0
        self._tokens: dict[str, str] = {}
        self._clients: dict[str, httpx2.Client] = {}
        with bind("127.0.0.1", 0) as free:
            self.port = free.getsockname()[1]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return self._up.stderr if self._up else ""

    def start(self, **settings: str) -> None:
        """Further names are settings: ``runners="2"``."""
        self._starts += 1
        folder = self._folder / str(self._starts)
        folder.mkdir()
        given = {"database_url": self.url, "runners": "1", "home": str(folder / "home"), **settings}
        variables = {f"PENSTOCK_{name.upper()}": value for name, value in given.items()}
        command = [sys.executable, "-m", "penstock.cli", "up", "-o", "json", "--port", str(self.port)]
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = warm_starts().start(command, env=environment(**variables), stdout=out, stderr=err)
        self._up = Background(process, folder)
        self._up.announced()
        if not self._tokens:
            self._add_users()

    def stop(self, number: int = signal.SIGTERM) -> None:
        """SIGKILL takes the whole group, as a machine that loses its power does."""
        if self._up is None:
            return
        if number == signal.SIGKILL:
            os.killpg(self._up.process.pid, number)
        else:
            self._up.process.send_signal(number)
        self._up.ended(60)
        self._up = None

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self.stop()

    def command(self, *arguments: str, seconds: float = 120) -> Any:
        """`penstock …` against this database; what it prints as JSON."""
        variables = environment(PENSTOCK_DATABASE_URL=self.url)
        run = warm_starts().run([*arguments, "-o", "json"], env=variables, seconds=seconds)
        assert run.returncode == 0, run.stderr
        return orjson.loads(run.stdout) if run.stdout.strip() else None

    def api(self, name: str = "ann") -> httpx2.Client:
        """Speaks HTTP as that user."""
        if name not in self._clients:
            self._clients[name] = httpx2.Client(
                base_url=self.address,
                headers={"Authorization": f"Bearer {self._tokens[name]}"},
                timeout=60,
                verify=False,
            )
        return self._clients[name]

    @contextmanager
    def signed_in(self, name: str) -> Iterator[httpx2.Client]:
        """Speaks HTTP with a session of that user, for what a token cannot do."""
        with httpx2.Client(base_url=self.address, headers={"Origin": self.address}, timeout=60, verify=False) as client:
            assert client.post("/login", data={"code": self.login_link(name).partition("=")[2]}).status_code == 303
            yield client
            client.post("/api/logout")

    def login_link(self, name: str) -> str:
        async def make() -> str:
            async with Penstock("links", settings=load(database_url=self.url)) as app:
                return accounts.login_path(await accounts.login_code(app, name))

        link: str = apart(lambda: asyncio.run(make()))
        return link

    def session_cookie(self, name: str) -> "SetCookieParam":
        """Of a session as a login makes it; how people log in is for tests of its own."""
        secret = secrets.token_urlsafe(32)
        self.sql(
            """insert into penstock.sessions (user_id, hash, expires_at)
               select id, $1, now() + interval '1 hour' from penstock.users where name = $2""",
            hashed(secret),
            name,
        )
        return {"name": COOKIE, "value": secret, "url": self.address, "httpOnly": True, "sameSite": "Strict"}

    def sql(self, statement: str, *values: Any) -> list[Any]:
        """Rows of a statement, over a connection of its own."""

        async def ask(connection: asyncpg.Connection) -> list[Any]:
            return list(await connection.fetch(statement, *values))

        found: list[Any] = self._connected(ask)
        return found

    def _add_users(self) -> None:
        async def add(connection: asyncpg.Connection) -> None:
            for name, role in USERS.items():
                user = await users.create(connection, name=name, role=role)
                if user is None:  # the admin that `penstock up` made
                    user = await users.by_name(connection, name)
                assert user is not None
                token = self._tokens[name] = secrets.token_urlsafe(32)
                await tokens.create(
                    connection, user_id=user.id, name="test", hash=hashed(token), hint=token[:6], expires_at=None
                )

        self._connected(add)

    def _connected(self, work: Callable[[asyncpg.Connection], Awaitable[Any]]) -> Any:
        async def connect() -> Any:
            connection = await asyncpg.connect(self.url)
            try:
                return await work(connection)
            finally:
                await connection.close()

        return apart(lambda: asyncio.run(connect()))


def apart(work: Callable[[], Any]) -> Any:
    """In a thread of its own, since the browser's driver occupies the event loop of this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result()
