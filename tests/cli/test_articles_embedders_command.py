"""`penstock articles embedders`: what can be chosen, and whether it answers."""

import asyncio
from pathlib import Path

import orjson

from penstock.language.embedding import VERSION
from tests.cli.conftest import Call
from tests.extensions.embedding_world import KEY, MODEL, EmbeddingServer, embedder_table, embedders_file

# The command's environment takes settings only; this one stands for a key.
VARIABLE = "PENSTOCK_TEST_KEY"


async def test_embedders_are_listed_with_a_probe_of_each(call: Call, database_url: str, tmp_path: Path):
    async with EmbeddingServer() as server:
        tables = [
            embedder_table("good", server.url, key_variable=VARIABLE),
            embedder_table("wrong", server.url, key_variable=VARIABLE, model="other"),
            embedder_table("keyless", server.url, key_variable="NOT_THERE"),
        ]
        file = str(embedders_file(tmp_path, *tables))

        def embedders(*options: str) -> tuple[int, str, str]:
            done = call(
                *("articles", "embedders", *options),
                database_url=database_url,
                articles_embedders_file=file,
                test_key=KEY,
            )
            return done.returncode, done.stdout, done.stderr

        code, out, err = await asyncio.to_thread(embedders, "-o", "json")
        assert code == 1, err
        builtin, good, wrong, keyless = orjson.loads(out)
        assert (builtin["name"], builtin["model"], builtin["problem"]) == ("builtin", VERSION, None)
        assert builtin["took_ms"] > 0 and good["took_ms"] > 0
        assert (good["name"], good["kind"], good["model"], good["host"]) == ("good", "openai", MODEL, "127.0.0.1")
        assert "knows no model 'other'" in wrong["problem"] and wrong["took_ms"] is None
        assert "NOT_THERE" in keyless["problem"] and server.calls == 2
        code, out, err = await asyncio.to_thread(embedders, "--no-probe")
        assert code == 1 and "builtin" in out and server.calls == 2
        assert KEY not in out + err


def test_embedders_without_a_problem_leave_zero(call: Call, database_url: str):
    done = call("articles", "embedders", database_url=database_url)
    assert (done.returncode, "builtin" in done.stdout) == (0, True), done.stderr
