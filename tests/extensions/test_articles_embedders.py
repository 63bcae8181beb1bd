"""Embedders against a real server on loopback: vectors as promised, and every trouble by what it takes to end it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from penstock import Penstock
from penstock.config import load
from penstock.control import limits
from penstock.errors import ThrottledError
from penstock.extensions.articles.embedders import openai
from penstock.extensions.articles.embedders.embedder import Embedder
from penstock.extensions.articles.embedders.local import BuiltinEmbedder
from penstock.extensions.articles.embedders.registry import Embedders
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderExhausted, EmbedderMisconfigured, TextRefused
from penstock.extensions.articles.generations import Generation, GenerationState
from penstock.extensions.articles.settings import ArticleSettings
from penstock.language.embedding import DIMENSIONS, VERSION
from penstock.language.embedding import Embedder as BuiltinModel
from tests.extensions.embedding_world import KEY, KEY_VARIABLE, MODEL, EmbeddingServer, embedder_table, embedders_file

TEXTS = ["A bakery sells bread.", "The engine lost its oil.", "", "漢字かな", "half a pair \ud800 here"]


class World:
    """A server, and the embedders of an application that knows it as ``outside``."""

    def __init__(self, app: Penstock, server: EmbeddingServer, embedders: Embedders) -> None:
        self.app = app
        self.server = server
        self.embedders = embedders

    @property
    def embedder(self) -> Embedder:
        return self.embedders.get("outside")

    async def embed(self, *texts: str, purpose: Any = "document") -> Any:
        return await self.embedder.embed(list(texts), purpose=purpose)


@asynccontextmanager
async def world(
    database_url: str, folder: Path, *, environment: dict[str, str] | None = None, **table: Any
) -> AsyncIterator[World]:
    async with EmbeddingServer() as server:
        path = embedders_file(folder, embedder_table("outside", server.url, **table))
        app = Penstock("test", settings=load(database_url=database_url, articles_embedders_file=path))
        embedders = Embedders(app, {KEY_VARIABLE: KEY} if environment is None else environment)
        try:
            yield World(app, server, embedders)
        finally:
            await embedders.close()
            await app.close()


@pytest.fixture
async def outside(database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    async with world(database_url, tmp_path) as made:
        yield made


# ---------------------------------------------------------------- vectors


async def test_an_endpoint_gives_rows_of_length_one_in_order_and_zeros_for_nothing(outside: World):
    rows = await outside.embed(*TEXTS)
    sent = [text.encode("utf-8", "replace").decode() for text in TEXTS]
    assert rows.dtype == np.float32 and np.allclose(rows, outside.server.vectors(sent), atol=1e-6)
    assert not rows[2].any() and "" not in outside.server.texts
    assert np.allclose(np.linalg.norm(rows[[0, 1, 3, 4]], axis=1), 1, atol=1e-6)
    assert outside.server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert (await outside.embed()).shape == (0, DIMENSIONS)


@pytest.mark.parametrize(("encoding", "shuffled"), [("float", True), ("base64", False), ("base64", True)])
async def test_the_index_and_both_encodings_are_understood(outside: World, encoding: str, shuffled: bool):
    outside.server.encoding, outside.server.shuffled = encoding, shuffled
    rows = await outside.embed("bread", "oil", "rain")
    assert np.allclose(rows, outside.server.vectors(["bread", "oil", "rain"]), atol=1e-6)


async def test_long_lists_go_out_in_requests_of_the_size_that_was_configured(database_url: str, tmp_path: Path):
    async with world(database_url, tmp_path, most_texts=3, most_characters=100) as made:
        texts = [f"text {number}" for number in range(7)] + ["x" * 90, "y" * 300]
        rows = await made.embed(*texts)
        sizes = [[len(text) for text in asked.body["input"]] for asked in made.server.asked]
        assert sizes == [[6, 6, 6], [6, 6, 6], [6, 90], [100]]
        assert np.allclose(rows[:7], made.server.vectors(texts[:7]), atol=1e-6)


async def test_prefixes_go_before_the_text_and_make_another_model(database_url: str, tmp_path: Path):
    async with world(database_url, tmp_path, query_prefix="query: ", document_prefix="passage: ") as made:
        await made.embed("bread")
        await made.embed("bread", purpose="query")
        assert made.server.texts == ["passage: bread", "query: bread"]
        assert made.embedder.model.startswith(f"{MODEL} ") and "dimensions" not in made.server.asked[0].body


async def test_dimensions_are_asked_for_where_the_file_says_so(database_url: str, tmp_path: Path):
    async with world(database_url, tmp_path, dimensions=128, send_dimensions=True) as made:
        made.server.dimensions = 128
        assert (await made.embed("bread")).shape == (1, 128)
        assert made.server.asked[0].body["dimensions"] == 128


async def test_a_query_that_was_asked_before_is_not_sent_again(outside: World):
    first = await outside.embed("fresh bread", purpose="query")
    first[0] = 0
    again = await outside.embed("fresh bread", purpose="query")
    assert outside.server.calls == 1 and again.any()
    for number in range(256):
        await outside.embed(f"query {number}", purpose="query")
    await outside.embed("fresh bread", purpose="query")
    assert outside.server.calls == 1 + 256 + 1
    await outside.embed("fresh bread")
    await outside.embed("fresh bread")
    assert outside.server.calls == 260


# ---------------------------------------------------------------- trouble


@pytest.mark.parametrize(
    ("status", "code", "message", "kind", "says"),
    [
        (401, "invalid_api_key", "no", EmbedderMisconfigured, f"refused the key .* Check the variable {KEY_VARIABLE}"),
        (403, None, "no", EmbedderMisconfigured, "refused the key"),
        (404, "model_not_found", "no", EmbedderMisconfigured, f"knows no model '{MODEL}'"),
        (301, None, "no", EmbedderMisconfigured, "final address"),
        (405, None, "no", EmbedderMisconfigured, "Check url"),
        (400, "model_not_found", "no such thing", EmbedderMisconfigured, "Check model, dimensions"),
        (400, None, "This model does not support dimensions.", EmbedderMisconfigured, "send_dimensions"),
        (400, None, "This model's maximum context length is 512 tokens.", TextRefused, "context length.*most_charac"),
        (400, None, "no", TextRefused, "did not take the text"),
        (413, None, "no", TextRefused, "413"),
        (422, None, "no", TextRefused, "422"),
        (402, None, "no", EmbedderExhausted, "no credit"),
        (429, "insufficient_quota", "You exceeded your quota.", EmbedderExhausted, "no credit"),
        (500, None, "no", EmbedderBusy, "answered 500"),
        (503, None, "no", EmbedderBusy, "answered 503"),
    ],
)
async def test_a_refusal_is_told_by_what_has_to_follow(
    outside: World, status: int, code: str | None, message: str, kind: type[Exception], says: str
):
    outside.server.status, outside.server.code, outside.server.message = status, code, message
    with pytest.raises(kind, match=says) as raised:
        await outside.embed("bread")
    assert type(raised.value) is kind
    if isinstance(raised.value, EmbedderBusy):
        assert raised.value.reached
    # The next one goes through: the endpoint was there.
    outside.server.status = None
    assert (await outside.embed("bread")).any()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500])
async def test_a_key_that_the_endpoint_repeats_is_in_no_error(outside: World, status: int):
    outside.server.status, outside.server.message = status, f"You sent {KEY} as {KEY[4:20]}, which is wrong."
    with pytest.raises(Exception) as raised:  # noqa: PT011
        await outside.embed("bread")
    told = "".join([str(raised.value), repr(raised.value), *map(str, getattr(raised.value, "__notes__", []))])
    pieces = [KEY[start : start + 8] for start in range(len(KEY) - 8)]
    assert not any(piece in told for piece in pieces)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("escaped", [False, True])
async def test_a_key_that_json_spells_in_another_way_is_in_no_error(
    database_url: str, tmp_path: Path, *, escaped: bool
):
    key = 'ab"c\\defghij-1234567'
    async with world(database_url, tmp_path, environment={KEY_VARIABLE: key}) as made:
        said = json.dumps({"error": {"message": f"The key {key} is wrong."}})
        if escaped:
            spelt = "".join(f"\\u{ord(sign):04x}" for sign in key)
            said = said.replace(json.dumps(key)[1:-1], spelt)
            assert "1234567" not in said
        made.server.key, made.server.status, made.server.raw = key, 400, said.encode()
        with pytest.raises(TextRefused, match=r"The key \*\*\* is wrong") as raised:
            await made.embed("bread")
    assert "1234567" not in str(raised.value)


async def test_a_text_that_is_refused_is_told_from_the_others(outside: World):
    outside.server.refuses = "poison"
    with pytest.raises(TextRefused, match="The input cannot be embedded"):
        await outside.embed("bread", "poison", "oil")
    assert (await outside.embed("bread", "oil")).any()


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_slow_down_is_told_with_its_wait_and_holds_the_key_of_this_provider(outside: World, form: str):
    soon = datetime.now(UTC) + timedelta(seconds=3001)
    outside.server.throttles = 1
    outside.server.retry_after = "3000" if form == "seconds" else format_datetime(soon, usegmt=True)
    with pytest.raises(ThrottledError) as raised:
        await outside.embed("bread")
    assert raised.value.key == "articles:outside" and 2900 < raised.value.retry_after <= 3001
    # Nobody asks it again until then, in no process; the built-in one goes on.
    with pytest.raises(ThrottledError, match="articles:outside"):
        await outside.embed("bread")
    assert outside.server.calls == 1
    [view] = [one for one in await limits.listing(outside.app) if one.key == "articles:outside"]
    assert view.blocked_seconds > 2900
    assert (await outside.embedders.get("builtin").embed(["bread"], purpose="document")).any()


async def test_a_search_does_not_wait_for_a_provider_that_is_held_back(outside: World):
    outside.server.throttles, outside.server.retry_after = 1, "3000"
    with pytest.raises(ThrottledError):
        await outside.embed("bread")
    with pytest.raises(ThrottledError):
        await outside.embed("bread", purpose="query")


async def test_a_rate_of_the_file_becomes_a_limit_of_the_fleet(database_url: str, tmp_path: Path):
    async with world(database_url, tmp_path, requests_per_minute=120) as made:
        await made.embed("bread")
        [view] = await limits.listing(made.app)
        assert (view.key, view.rate, view.burst) == ("articles:outside", 2.0, 10)


async def test_refused_connections_open_the_circuit_which_fails_at_once_and_closes_again(
    outside: World, monkeypatch: pytest.MonkeyPatch
):
    now = [1000.0]
    monkeypatch.setattr(openai, "monotonic", lambda: now[0])
    await outside.server.stop()
    for _ in range(3):
        with pytest.raises(EmbedderBusy, match="cannot be reached") as raised:
            await outside.embed("bread", purpose="query")
        assert not raised.value.reached
    await outside.server.start()
    with pytest.raises(EmbedderBusy, match=r"failed 3 times in a row; it is asked again in 5\.0 s"):
        await outside.embed("bread", purpose="query")
    assert outside.server.calls == 0
    # What a search found out does not stop the articles.
    assert (await outside.embed("bread")).any()
    now[0] += 5.1
    assert (await outside.embed("bread", purpose="query")).any()


async def test_only_failures_in_a_row_open_the_circuit(outside: World):
    for number in range(6):
        outside.server.down = number % 3 < 2
        if outside.server.down:
            with pytest.raises(EmbedderBusy, match="broke"):
                await outside.embed(f"query {number}", purpose="query")
        else:
            assert (await outside.embed(f"query {number}", purpose="query")).any()
    assert outside.server.calls == 6


async def test_failures_that_a_document_may_cause_do_not_open_the_circuit(outside: World):
    outside.server.status = 500
    for _ in range(8):
        with pytest.raises(EmbedderBusy, match="answered 500"):
            await outside.embed("bread")
    assert outside.server.calls == 8


async def test_a_connection_that_ends_without_an_answer_is_busy(outside: World):
    outside.server.down = True
    with pytest.raises(EmbedderBusy, match=r"The connection to .* broke") as raised:
        await outside.embed("bread")
    assert not raised.value.reached


async def test_an_endpoint_that_is_too_slow_is_busy(database_url: str, tmp_path: Path):
    async with world(database_url, tmp_path, timeout_seconds=0.2) as made:
        made.server.held = asyncio.Event()
        with pytest.raises(EmbedderBusy, match=r"took longer than 0\.2 s") as raised:
            await made.embed("bread")
        assert not raised.value.reached
        made.server.held.set()


async def test_a_query_gives_up_before_the_search_does(outside: World):
    outside.app.settings.of(ArticleSettings).__dict__["query_timeout_seconds"] = 0.2
    outside.server.held = asyncio.Event()
    with pytest.raises(EmbedderBusy, match=r"took longer than 0\.18 s"):
        await outside.embed("bread", purpose="query")
    outside.server.held.set()


def body(*vectors: Any) -> bytes:
    return json.dumps({"data": [{"index": n, "embedding": one} for n, one in enumerate(vectors)]}).encode()


GOOD = [0.5] * DIMENSIONS


@pytest.mark.parametrize(
    ("raw", "kind", "says"),
    [
        (b"<html>busy</html>", EmbedderBusy, "it is no JSON"),
        (b"[" * 50_000, EmbedderBusy, "it is no JSON"),
        (b"[]", EmbedderBusy, "no list called data"),
        (b'{"data": 3}', EmbedderBusy, "no list called data"),
        (body(GOOD), EmbedderBusy, "1 vectors for 2 texts"),
        (body(GOOD, GOOD, GOOD), EmbedderBusy, "3 vectors for 2 texts"),
        (b'{"data": [3, 4]}', EmbedderBusy, "entry 0 has no embedding"),
        (body(GOOD, "%%%"), EmbedderBusy, "not base64"),
        (body(GOOD, "YWJj"), EmbedderBusy, "not base64"),
        (body(GOOD, ["a"] * DIMENSIONS), EmbedderBusy, "not of numbers"),
        (body(GOOD, {"a": 1}), EmbedderBusy, "neither a list"),
        (body(GOOD, GOOD).replace(b'"index": 1', b'"index": 0'), EmbedderBusy, "index of entry 1"),
        (body(GOOD, GOOD).replace(b'"index": 1', b'"index": -1'), EmbedderBusy, "index of entry 1"),
        (body(GOOD, [float("nan"), *GOOD[1:]]), TextRefused, "no finite numbers"),
        (body(GOOD, [None, *GOOD[1:]]), TextRefused, "no finite numbers"),
        (body(GOOD, [1e300, *GOOD[1:]]), TextRefused, "no finite numbers"),
        (body(GOOD, [0.0] * DIMENSIONS), TextRefused, "made only zeros of a text. Change the text"),
        (body(GOOD, GOOD[1:]), EmbedderMisconfigured, "vectors of 255 numbers.*dimensions = 256"),
        (b" " * 200_000, EmbedderMisconfigured, "larger than"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_told_clearly(
    outside: World, raw: bytes, kind: type[Exception], says: str
):
    outside.server.raw = raw
    with pytest.raises(kind, match=says):
        await outside.embed("bread", "oil")


async def test_other_dimensions_than_were_promised_need_a_person(outside: World):
    outside.server.dimensions = 128
    with pytest.raises(EmbedderMisconfigured, match="makes vectors of 128 numbers, and embedder 'outside' says"):
        await outside.embed("bread")


async def test_a_missing_key_is_told_before_anybody_is_asked(database_url: str, tmp_path: Path):
    async with world(database_url, tmp_path, environment={}) as made:
        with pytest.raises(EmbedderMisconfigured, match=f"The variable {KEY_VARIABLE}.* is not set"):
            await made.embed("bread")
        assert made.server.calls == 0
        assert KEY_VARIABLE in str(made.embedders.listing()[1].problem)


# ---------------------------------------------------------------- registry


def generation(**more: Any) -> Generation:
    usual: dict[str, Any] = {
        "id": 1,
        "name": "first",
        "embedder": "builtin",
        "model": VERSION,
        "dimensions": DIMENSIONS,
        "chunker": "structure/1 700+100",
        "state": GenerationState.ACTIVE,
        "job_id": None,
        "note": None,
        "created_by": "test",
        "created_at": datetime.now(UTC),
        "ready_at": None,
        "activated_at": None,
    }
    return Generation(**(usual | more))


async def test_a_generation_gets_its_embedder_only_while_the_model_is_the_same(outside: World):
    assert (await outside.embedders.for_generation(generation())).name == "builtin"
    fits = generation(embedder="outside", model=MODEL)
    assert (await outside.embedders.for_generation(fits)).name == "outside"
    for wrong in ({"model": "old"}, {"dimensions": 300}):
        with pytest.raises(EmbedderMisconfigured, match=r"Put the old model back .* or build a new index"):
            usual: dict[str, Any] = {"embedder": "outside", "model": MODEL}
            await outside.embedders.for_generation(generation(**(usual | wrong)))


async def test_an_unknown_name_is_answered_with_the_known_ones(outside: World):
    with pytest.raises(EmbedderMisconfigured, match="no embedder 'outsde'; known are builtin, outside"):
        outside.embedders.get("outsde")
    assert outside.embedders.get("outside") is outside.embedders.get("outside")


async def test_a_probe_measures_or_says_the_problem(outside: World):
    good = await outside.embedders.probe("outside")
    assert good.took_ms is not None and good.problem is None and (good.host, good.model) == ("127.0.0.1", MODEL)
    builtin_view = await outside.embedders.probe("builtin")
    assert builtin_view.took_ms is not None and builtin_view.model == VERSION
    outside.server.status = 401
    bad = await outside.embedders.probe("outside")
    assert bad.took_ms is None and "refused the key" in str(bad.problem)


async def test_a_broken_file_is_shown_and_stops_only_its_own_embedders(tmp_path: Path):
    path = embedders_file(tmp_path, "nonsense")
    embedders = Embedders(Penstock("test", settings=load(articles_embedders_file=path)), {})
    assert (await embedders.get("builtin").embed(["bread"], purpose="query")).any()
    views = embedders.listing()
    assert [view.name for view in views] == ["builtin", "PENSTOCK_ARTICLES_EMBEDDERS_FILE"]
    assert "no TOML" in str(views[1].problem)
    with pytest.raises(EmbedderMisconfigured, match=r"'outside' cannot be used.*no TOML"):
        embedders.get("outside")
    await embedders.close()


# ---------------------------------------------------------------- built-in, and sentence-transformers


async def test_the_builtin_model_is_loaded_once_for_all(monkeypatch: pytest.MonkeyPatch):
    real, loads = BuiltinModel.load, []

    def load_counted() -> BuiltinModel:
        loads.append(1)
        return real()

    monkeypatch.setattr(BuiltinModel, "load", load_counted)
    embedder = BuiltinEmbedder()
    rows = await asyncio.gather(*[embedder.embed(["bread"], purpose="document") for _ in range(8)])
    assert loads == [1] and all(np.array_equal(rows[0], one) for one in rows)
    assert np.array_equal(rows[0], real().embed(["bread"]))


async def test_no_memory_is_told_as_a_resource(monkeypatch: pytest.MonkeyPatch, outside: World):
    def full(*_: object) -> None:
        raise MemoryError

    embedder = BuiltinEmbedder()
    await embedder.embed(["bread"], purpose="document")
    monkeypatch.setattr(BuiltinModel, "embed", full)
    with pytest.raises(EmbedderExhausted, match="not enough memory"):
        await embedder.embed(["bread"], purpose="document")
    monkeypatch.setattr(openai, "vectors_of", full)
    monkeypatch.setattr(EmbeddingServer, "vectors", lambda self, texts: np.ones((len(texts), DIMENSIONS), "f4"))
    with pytest.raises(EmbedderExhausted, match="Lower most_texts"):
        await outside.embed("bread")


class FakeModel:
    """The one method of the library that is used."""

    def __init__(self, name: str) -> None:
        if name == "missing":
            raise OSError("no such model")
        self.texts: list[str] = []

    def encode(self, texts: list[str], **_: Any) -> Any:
        if "oom" in texts:
            raise RuntimeError("CUDA out of memory.")
        self.texts += texts
        return np.full((len(texts), 3), 0.0 if "void" in texts else 2.0)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=FakeModel))


def local(folder: Path, **more: Any) -> Embedder:
    table = embedder_table(
        "local", None, **({"key_variable": None, "kind": "sentence-transformers", "dimensions": 3} | more)
    )
    settings = load(articles_embedders_file=embedders_file(folder, table))
    return Embedders(Penstock("test", settings=settings), {}).get("local")


@pytest.mark.usefixtures("library")
async def test_a_model_of_sentence_transformers_gives_rows_of_length_one(tmp_path: Path):
    rows = await local(tmp_path, document_prefix="p: ").embed(["a", "", "b"], purpose="document")
    assert np.allclose(rows, np.array([[3**-0.5] * 3, [0.0] * 3, [3**-0.5] * 3]))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("more", "text", "kind", "says"),
    [
        ({"model": "missing"}, "a", EmbedderMisconfigured, "cannot be loaded"),
        ({"dimensions": 5}, "a", EmbedderMisconfigured, "vectors of 3 numbers"),
        ({}, "oom", EmbedderExhausted, "not enough memory"),
        ({}, "void", TextRefused, "made only zeros of a text"),
    ],
)
async def test_trouble_with_a_model_of_sentence_transformers_is_told(
    tmp_path: Path, more: dict[str, Any], text: str, kind: type[Exception], says: str
):
    with pytest.raises(kind, match=says):
        await local(tmp_path, **more).embed([text], purpose="document")


async def test_without_the_library_the_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderMisconfigured, match=r"pip install 'penstock\[sentence-transformers\]'"):
        await local(tmp_path).embed(["a"], purpose="document")
