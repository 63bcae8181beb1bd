"""The models file: what is understood, and what is said about mistakes."""

from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.config import Settings, load
from penstock.errors import InvalidSetting
from penstock.extensions.sites.fetch.fetched import SiteProblem
from penstock.extensions.sites.models.models_file import read
from penstock.extensions.sites.models.registry import Models
from penstock.providers.rate_headers import duration_seconds, of_requests, of_tokens
from tests.extensions.model_world import KEY, table

HOST = "https://api.model.example/v1"


def settings_with(folder: Path, text: str, **more: Any) -> Settings:
    path = folder / "models.toml"
    path.write_text(text)
    return load(sites_models_file=path, **more)


def test_a_file_with_two_models_is_read_with_its_defaults(tmp_path: Path):
    text = table("gpt", HOST + "/", input_price=0.15, output_price=0.6, requests_per_minute=60) + table(
        "local", "http://localhost:11434/v1", key_variable=None
    )
    first, second = read(settings_with(tmp_path, text), {"TEST_MODEL_KEY": KEY})
    assert (first.url, first.key, first.problem, first.max_tokens, first.concurrency) == (HOST, KEY, None, 400, 4)
    assert (first.input_price, first.requests_key) == (0.15, "model:gpt:requests")
    assert (second.key, second.problem, second.private) == (None, None, False)
    assert KEY not in repr(first)


def test_without_a_file_there_is_the_offline_model(tmp_path: Path):
    assert read(load(), {}) == []
    models = Models(Penstock("test", settings=load()))
    assert [view.name for view in models.listing()] == ["offline"]
    assert [model.name for model in models.choose(["offline", "offline"])] == ["offline"]


def test_a_name_that_only_others_know_is_no_case_for_another_try(tmp_path: Path):
    app = Penstock("test", settings=settings_with(tmp_path, table("gpt", HOST)))
    models = Models(app, {})
    with pytest.raises(
        SiteProblem, match=r"model 'gtp'; it knows offline, gpt\..*start them again with PENSTOCK_SITES_M"
    ):
        models.choose(["gtp"])
    view = models.listing()[1]
    assert (view.name, view.model, view.host) == ("gpt", "gpt-large", "api.model.example")
    assert "TEST_MODEL_KEY" in (view.problem or "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "it is no TOML"),
        ("", "one or more tables"),
        ("model = 3", "one or more tables"),
        ("[other]\na = 1", "one or more tables"),
        (table("gpt", "ftp://model.example"), "begin with https"),
        (table("gpt", "https://me:s3cret@model.example/v1"), "leave out login"),
        (table("gpt", "https://model.example/v1?key=s3cret"), "leave out login"),
        (table("gpt", "http://model.example/v1"), "a key is not sent over http"),
        (table("gpt", "https://model.example:99999/v1"), "no address"),
        (table("offline", HOST), "comes along"),
        (table("a b", HOST), "letters, digits"),
        (table("gpt", HOST, key_variable="sk-s3cret key"), "letters, digits"),
        (table("gpt", HOST, key="sk-s3cret"), "keys stay in the environment"),
        (table("gpt", HOST, max_token=4), "did you mean max_tokens"),
        (table("gpt", HOST, max_tokens=0), "a whole number from 1"),
        (table("gpt", HOST, max_tokens=1.5), "a whole number from 1"),
        (table("gpt", HOST, input_price=-1), "a number from 0"),
        (table("gpt", HOST, input_price="cheap"), "a number from 0"),
        (table("gpt", HOST, temperature=True), "a number from 0 to 2"),
        (table("gpt", HOST) + "input_price = nan", "a number from 0"),
        (table("gpt", HOST, model=None), "a text is needed"),
        (table("gpt", HOST, tokens_parameter="n"), "max_completion_tokens"),
        (table("gpt", HOST) + table("gpt", HOST), "the same name"),
        (table("a", HOST, provider="p", requests_per_minute=5) + table("b", HOST, provider="p"), "says otherwise"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_without_secrets(tmp_path: Path, text: str, problem: str):
    with pytest.raises(InvalidSetting, match=problem) as raised:
        read(settings_with(tmp_path, text), {})
    assert "PENSTOCK_SITES_MODELS_FILE" in str(raised.value) and "s3cret" not in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(InvalidSetting, match="cannot be read"):
        read(load(sites_models_file=tmp_path / "missing.toml"), {})


def test_a_key_that_is_no_key_is_told_without_its_value(tmp_path: Path):
    [endpoint] = read(settings_with(tmp_path, table("gpt", HOST)), {"TEST_MODEL_KEY": "clé\n"})
    assert endpoint.key is None and "clé" not in (endpoint.problem or "") and endpoint.problem


def test_the_version_changes_with_what_changes_answers_and_not_with_prices(tmp_path: Path):
    def version(**more: Any) -> str:
        [endpoint] = read(settings_with(tmp_path, table("gpt", HOST, **more)), {})
        return endpoint.version

    assert version() == version(input_price=5.0, concurrency=9)
    assert len({version(), version(temperature=0.1), version(max_tokens=7), version(model="other")}) == 4


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("6m0s", 360), ("1h2m3.5s", 3723.5), ("120ms", 0.12), ("20", 20), ("1.5", 1.5), ("", None), ("soon", None)],
)
def test_durations_as_endpoints_write_them(text: str, seconds: float | None):
    assert duration_seconds(text) == seconds


def test_headers_about_tokens_do_not_hold_up_requests():
    headers = {
        "X-RateLimit-Remaining-Requests": "5",
        "x-ratelimit-reset-requests": "10s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "2s",
        "Retry-After": "3",
    }
    assert of_requests(headers) == {"retry-after": "3"}
    assert of_tokens(headers) == {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2.000"}
