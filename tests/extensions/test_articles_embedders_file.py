"""The embedders file: what is understood, and what is said about mistakes."""

from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InvalidSetting
from penstock.extensions.articles.embedders.options import Options, read
from penstock.providers.own_network import is_own_network
from tests.extensions.embedding_world import KEY, KEY_VARIABLE, MODEL, embedder_table, embedders_file

HOST = "https://api.vectors.example/v1"


def test_a_file_is_read_with_its_defaults(tmp_path: Path):
    tables = [
        embedder_table("far", HOST + "/embeddings/", query_prefix="query: "),
        embedder_table("near", "http://localhost:11434/v1", key_variable=None, most_texts=8, send_dimensions=True),
        embedder_table("rough", HOST, words_weight=1.5),
        embedder_table("here", None, key_variable=None, kind="sentence-transformers"),
    ]
    far, near, rough, here = read(embedders_file(tmp_path, *tables), {KEY_VARIABLE: KEY})
    assert (far.url, far.key, far.problem, far.most_texts, far.query_prefix) == (HOST, KEY, None, 64, "query: ")
    assert (near.key, near.problem, near.most_texts, near.send_dimensions) == (None, None, 8, True)
    assert (here.model, here.host) == (MODEL, "")
    assert (far.words_weight, rough.words_weight, here.words_weight) == (0.5, 1.5, 0.5)
    assert KEY not in repr(far) and read(None, {}) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "it is no TOML"),
        ("", r"tables \[\[embedder\]\]"),
        ("[[model]]\na = 1", r"tables \[\[embedder\]\]"),
        (embedder_table("far", "ftp://vectors.example"), "begin with https"),
        (embedder_table("far", "https://me:s3cret@vectors.example/v1"), "leave out login"),
        (embedder_table("far", "http://vectors.example/v1", key_variable=None), "only to this machine"),
        (embedder_table("far", "http://198.51.100.7.example/v1"), "only to this machine"),
        (embedder_table("far", "http://8.8.8.8/v1"), "only to this machine"),
        (embedder_table("builtin", HOST), "comes along"),
        (embedder_table("a b", HOST), "letters, digits"),
        (embedder_table("far", HOST, key_variable="sk-s3cret key"), "letters, digits"),
        (embedder_table("far", HOST, api_key="sk-s3cret"), "keys stay in the environment"),
        (embedder_table("far", HOST, dimension=4), "did you mean dimensions"),
        (embedder_table("far", HOST, dimensions=None), "how many numbers"),
        (embedder_table("far", HOST, dimensions=1), "a whole number from 2"),
        (embedder_table("far", HOST, dimensions=5000), "to 4000"),
        (embedder_table("far", HOST, most_texts=0), "a whole number from 1"),
        (embedder_table("far", HOST, words_weight=-1), "a number from 0"),
        (embedder_table("far", HOST, kind="other"), "use openai or sentence-transformers"),
        (embedder_table("far", None), "a text is needed"),
        (embedder_table("far", HOST, query_prefix=3), "a text is needed"),
        (embedder_table("far", HOST, send_dimensions="yes"), "true or false"),
        (embedder_table("far", HOST, kind="sentence-transformers"), "has no such field"),
        (embedder_table("far", HOST) + embedder_table("far", HOST), "the same name"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_without_secrets(tmp_path: Path, text: str, problem: str):
    with pytest.raises(InvalidSetting, match=problem) as raised:
        read(embedders_file(tmp_path, text), {})
    assert "PENSTOCK_ARTICLES_EMBEDDERS_FILE" in str(raised.value) and "s3cret" not in str(raised.value)


def test_a_missing_or_impossible_key_is_a_problem_of_that_embedder_alone(tmp_path: Path):
    def problem(environment: dict[str, str]) -> str:
        [options] = read(embedders_file(tmp_path, embedder_table("far", HOST)), environment)
        assert options.key is None
        return options.problem or ""

    assert f"{KEY_VARIABLE}, which should hold its key, is not set" in problem({})
    told = problem({KEY_VARIABLE: "clé"})
    assert "holds no key" in told and "clé" not in told


def test_the_model_changes_with_what_changes_the_vectors_and_with_nothing_else(tmp_path: Path):
    def options(**more: Any) -> Options:
        [read_options] = read(embedders_file(tmp_path, embedder_table(**({"name": "far", "url": HOST} | more))), {})
        return read_options

    assert options().fingerprint == options(url="https://other.example/v1", most_texts=3).fingerprint == MODEL
    changed = [options(query_prefix="a"), options(document_prefix="a"), options(model="other"), options()]
    assert len({one.fingerprint for one in changed}) == 4


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("192.168.0.9", True),
        ("fd00::7", True),
        ("ollama", True),
        ("gpu.internal", True),
        ("gpu.local.", True),
        ("8.8.8.8", False),
        ("vectors.example.com", False),
        ("10.1.2.3.example.com", False),
        ("internal.example.com", False),
        ("", False),
    ],
)
def test_hosts_of_our_own_network_are_told_by_how_they_are_written(host: str, own: bool):
    assert is_own_network(host) is own
