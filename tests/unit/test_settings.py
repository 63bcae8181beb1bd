"""Wrong settings: each gets one sentence of ours with the name, the value and what is allowed."""

from typing import Any

import pytest

from penstock import config
from penstock.config import Settings, allowed, load, setting_fields, unknown_variables
from penstock.errors import InvalidSetting, UsageError
from penstock.extension import declared_settings
from penstock.failpoints import Failpoints


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "abc", "it has to be a whole number from 0 to 65535"),
        ("PORT", "65536", "it has to be a whole number from 0 to 65535"),
        ("WORKER_TARGET_SLICE_MS", "0", "it has to be a whole number from 1 to 3600000"),
        ("SAFETY_FACTOR", "0", "it has to be a number above 0 and at most 1"),
        ("LOG_LEVEL", "loud", "it has to be debug, info, warning or error"),
        ("LISTEN", "perhaps", "it has to be true or false"),
        ("FILE_ROOTS", "inbox", "it has to be absolute folders, separated by commas"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str):
    monkeypatch.setenv(f"PENSTOCK_{name}", value)
    with pytest.raises(InvalidSetting) as refused:
        load()
    assert str(refused.value) == f"PENSTOCK_{name} = {value!r} will not do: {said}."


def test_every_setting_can_say_what_it_may_be():
    for _, _, field in setting_fields([Settings, *declared_settings()]).values():
        assert allowed(field)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost", "'localhost' will not do: it does not begin with postgresql://"),
        ("me:hidden@db/app", "'***@db/app' will not do: it does not begin with postgresql://"),
        ("mysql://me:hidden@db/app", "'mysql://***@db/app' will not do: it begins with mysql://"),
        ("postgresql+asyncpg://me:hidden@db/app", "it begins with postgresql+asyncpg://"),
        ("postgresql://me:hidden@db:54x2/app?password=hidden", "'54x2' is no port"),
        ("postgresql://db:70000/app", "'70000' is no port"),
        ("postgresql://me:hidden#s@db/app", "escape /, ? and # in the password as"),
        ("postgresql://me:hidden/s@db/app", "escape /, ? and # in the password as"),
    ],
)
def test_a_wrong_database_url_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, url: str, said: str):
    monkeypatch.setenv("PENSTOCK_DATABASE_URL", url)
    with pytest.raises(InvalidSetting) as refused:
        load()
    assert said in str(refused.value)
    assert "write it as postgresql://" in str(refused.value)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:p@db/app",
        "postgres://db:5432/app",
        "postgresql:///app?host=/run/postgresql",
        "postgresql://one:5432,two:5433/app",
        "postgresql://[::1]:5432/app",
        "postgresql://me:p%40ss@db/app?sslmode=require",
    ],
)
def test_what_postgresql_understands_is_taken(url: str):
    assert load(database_url=url).url == url


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PENSTOCK_PORT", "")
    monkeypatch.delenv("PENSTOCK_DATABASE_URL", raising=False)
    assert load().port == 8080
    assert config.origin("port", {}) == "default"


def test_an_unknown_variable_is_found_with_the_nearest_name():
    found = unknown_variables({"PENSTOCK_RUNERS": "3", "penstock_port": "1", "PENSTOCK_XYZ": "", "HOME": "/"})
    assert [(one.name, one.nearest) for one in found] == [
        ("PENSTOCK_RUNERS", "PENSTOCK_RUNNERS"),
        ("PENSTOCK_XYZ", None),
    ]
    assert "Did you mean PENSTOCK_RUNNERS?" in found[0].next_step
    assert "penstock config show" in found[1].next_step


def test_variables_of_tests_and_faults_are_known():
    assert unknown_variables({"PENSTOCK_FAILPOINTS": "", "PENSTOCK_TEST_DATABASE_URL": "", "PENSTOCK_LEDGER": ""}) == []


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("PENSTOCK_FAILPOINTS", "before_claim:kill:often", "the chance 'often' is no number from 0 to 1"),
        ("PENSTOCK_FAILPOINTS", "before_claim:kill:2", "the chance '2' is no number from 0 to 1"),
        ("PENSTOCK_FAILPOINTS", "before_claim:kill:nan", "the chance 'nan' is no number from 0 to 1"),
        ("PENSTOCK_FAILPOINTS", "before_claim:kill:0.1:x", "the chance '0.1:x' is no number"),
        ("PENSTOCK_FAILPOINTS", "before_claim:sleep=long", "the seconds 'long' is no number"),
        ("PENSTOCK_FAILPOINTS", "lunch:kill", "the place 'lunch' is none of before_claim,"),
        ("PENSTOCK_FAILPOINTS", "before_claim:dance", "the action 'dance' is none of kill, exit,"),
        ("PENSTOCK_FAILPOINTS_SEED", "dice", "it has to be a whole number"),
    ],
)
def test_a_wrong_failpoint_is_a_sentence_not_a_bare_value_error(variable: str, value: str, said: str):
    with pytest.raises(InvalidSetting) as refused:
        Failpoints.from_environment({variable: value})
    assert str(refused.value).startswith(f"{variable} = {value!r} will not do: ")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("chosen", "example"),
    [
        ({"transport": "redis"}, "PENSTOCK_REDIS_URL does not say where it is (for example redis://"),
        ({"transport": "rabbitmq"}, "PENSTOCK_RABBITMQ_URL does not say where it is (for example amqp://"),
        ({"limiter": "redis"}, "PENSTOCK_REDIS_URL does not say where it is (for example redis://"),
    ],
)
def test_a_broker_without_an_address_is_refused_with_an_example(chosen: dict[str, Any], example: str):
    with pytest.raises(UsageError) as refused:
        load(**chosen)
    assert example in str(refused.value)
