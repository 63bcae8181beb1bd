"""Extras: what each brings, and what is said where one is missing."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

from penstock import extras
from penstock.errors import MissingExtra

ROOT = Path(__file__).parents[2]
DECLARED: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


def distributions(extra: str) -> set[str]:
    """Those that ``extra`` asks for, with those of the extras it includes."""
    found: set[str] = set()
    for requirement in DECLARED[extra]:
        if included := re.fullmatch(r"penstock\[(.+)\]", requirement):
            found |= {one for name in included[1].split(",") for one in distributions(name)}
        else:
            found.add(re.split(r"[\[><=]", requirement)[0])
    return found


def test_every_extra_is_known_by_the_modules_it_brings():
    assert extras.MODULES.keys() == DECLARED.keys() - {"sentence-transformers"}
    owners = importlib.metadata.packages_distributions()
    for extra, modules in extras.MODULES.items():
        brought = {owner.lower().replace("_", "-") for module in modules for owner in owners[module]}
        assert distributions(extra) - {"opentelemetry-sdk"} <= brought, extra


def test_what_is_missing_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module == "selectolax" else object())
    extras.require("console", "`penstock up`")
    with pytest.raises(MissingExtra) as missing:
        extras.require("sites", "`penstock sites`")
    assert str(missing.value) == "`penstock sites` needs the extra 'sites'. Run `pip install 'penstock[sites]'`."
