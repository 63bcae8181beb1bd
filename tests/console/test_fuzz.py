"""The whole API under schemathesis, with NUL characters and all checks: nothing may answer 5xx or break its schema.

Short here; ``make fuzz`` gives it minutes (``PENSTOCK_FUZZ_SECONDS``) and an admin's token as well.
"""

import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import asyncpg
import pytest

from penstock.console.http.actor import hashed
from penstock.console.storage import tokens, users

_HERE = Path(__file__).parent
_BIN = Path(sys.executable).parent
_SECONDS = int(os.environ.get("PENSTOCK_FUZZ_SECONDS", "9"))
_LONG = _SECONDS > 60
_START_SECONDS = 60.0
# Out of reach of generated ids, which are mostly small: the fuzzer must not revoke the token it comes with.
_FIRST_TOKEN = 4_000_000_123


@pytest.mark.timeout(_SECONDS * 3 + 120)
@pytest.mark.parametrize("role", ["operator", None, *(["admin"] if _LONG else [])])
async def test_nothing_that_is_sent_breaks_the_service(role: str | None, database_url: str, tmp_path: Path) -> None:
    headers = [] if role is None else ["--header", f"Authorization: Bearer {await _token(database_url, role)}"]
    seconds = _SECONDS if role is not None else _SECONDS // 3
    log = tmp_path / "service.log"
    with _served(database_url, log) as address:
        await _fill(database_url)
        ran = subprocess.run(
            [
                _BIN / "schemathesis",
                "--config-file",
                _HERE / "schemathesis.toml",
                "run",
                f"{address}/api/openapi.json",
                "--max-time",
                str(seconds),
                "--checks",
                "all",
                "--continue-on-failure",
                "--generation-database",
                ":memory:",
                "--no-color",
                *headers,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=seconds * 2 + 60,
            check=False,
        )
    told = log.read_text(encoding="utf-8", errors="replace")
    faults = re.findall(r"Traceback \(most recent call last\):.*", told, re.DOTALL)
    assert faults == [], faults[0][-4000:]
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-12_000:]


async def _token(database_url: str, role: str) -> str:
    secret = secrets.token_urlsafe(32)
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(f"alter table penstock.tokens alter id restart with {_FIRST_TOKEN}")
        user = await users.create(connection, name="fuzzer", role=role)
        assert user is not None
        await tokens.create(connection, user_id=user.id, name="fuzz", hash=hashed(secret), hint="fuzz", expires_at=None)
    finally:
        await connection.close()
    return secret


async def _fill(database_url: str) -> None:
    """Objects of the fuzzer's behind the smallest ids, which it tries first. The service has registered the stages."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(_OBJECTS)
    finally:
        await connection.close()


_OBJECTS = """
insert into penstock.jobs (pipeline, owner, metadata) select 'look_up', 'fuzzer', '{"columns": ["Name"]}'
from generate_series(1, 3);
select penstock.enqueue('look_up', '{"row": 1, "cells": ["lamp"]}', owner => 'fuzzer', job_id => 1 + n % 3)
from generate_series(1, 30) n;
with gone as (
    delete from penstock.queue where task_id % 2 = 1 returning task_id, lane, stage
), counted as (
    insert into penstock.counts (lane, stage, state, n) select lane, stage, 3, count(*) from gone group by lane, stage
)
insert into penstock.outcomes (task_id, job_id, lane, stage, status, attempts, run, error)
select task_id, 1 + task_id % 3, lane, stage, 3, 1, 1, '{"type": "ShopError", "message": "it is closed"}' from gone;
insert into penstock.schedules (name, cron, pipeline, input, next_fire_at)
values ('0', '0 3 * * *', 'add', '{"left": 1, "right": 2}', now() + interval '1 hour');
insert into penstock.limits (key, rate) select 'shop ' || n, 5 from generate_series(1, 10) n;
insert into article_search.articles (slug, title, owner, words)
select slug, 'Lamps', 'fuzzer', to_tsvector('english', 'Lamps give light.') from unnest(array['0', '1', 'A', 'a']) slug;
insert into article_search.revisions (article_id, revision, title, content, author, digest)
select id, 1, title, 'Lamps give light.', owner, '' from article_search.articles;
insert into article_search.saved_queries (owner, query) select 'fuzzer', n::text from generate_series(1, 5) n;
insert into record_linking.projects (name, owner, source, columns, roles)
select 'People', 'fuzzer', 'wikidata', array['name', 'born'], '{"name": {"role": "name"}}' from generate_series(1, 3);
insert into record_linking.records (project_id, number, cells, state, query, language, entity, label, score, gap)
select p, n, '{"name": "Ada"}', n % 9, 'Ada', 'en', 'Q1', 'Ada', 0.5, 0.1
from generate_series(1, 3) p, generate_series(1, 20) n;
insert into record_linking.candidates (record_id, rank, entity, label, score, parts)
select id, 1, 'Q1', 'Ada', 0.5, '[{"feature": "name", "weight": 1, "value": 0.5, "points": 0.5, "said": "alike"}]'
from record_linking.records;
"""


@contextmanager
def _served(database_url: str, log: Path) -> Iterator[str]:
    with socket.socket() as listening, log.open("wb") as output:
        # The server does not know that the socket it gets speaks TCP, and leaves every answer waiting for 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        command = [_BIN / "uvicorn", "--factory", "tests.console.fuzz_app:make", "--fd", str(listening.fileno())]
        process = subprocess.Popen(
            [*command, "--log-level", "warning", "--no-access-log"],
            cwd=_HERE.parents[1],
            env={**os.environ, "PENSTOCK_DATABASE_URL": database_url, "PENSTOCK_LOG_LEVEL": "warning"},
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[listening.fileno()],
        )
        try:
            _wait_until_it_answers(address, process, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_it_answers(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urlopen(f"{address}/api/openapi.json", timeout=_START_SECONDS):
                return
        except (URLError, OSError):
            if process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"the service did not start: {log.read_text()[-3000:]}") from None
            time.sleep(0.1)
