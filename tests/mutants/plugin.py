"""Plants the mutant named by ``PENSTOCK_TEST_MUTANT`` in this pytest process (``-p tests.mutants.plugin``).

Loaded before anything of Penstock: SQL is changed in the loaded queries and migrations, Python by a loader that
changes the source on its way to the compiler.
"""

import importlib.machinery
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.abc import MetaPathFinder
from types import CodeType, ModuleType

import pytest

from tests.mutants.catalogue import Mutant, mutant

VARIABLE = "PENSTOCK_TEST_MUTANT"


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the changed source, and keeps away from the cache of compiled files."""

    def __init__(self, planted: Mutant, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self._planted = planted

    def get_code(self, fullname: str) -> CodeType:
        source = self._planted.applied(self.get_data(self.path).decode())
        return compile(source, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, planted: Mutant) -> None:
        self._planted = planted
        self._module = planted.module()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(self._planted, fullname, spec.origin)
        return spec


def _plant_query(planted: Mutant) -> None:
    texts = planted.queries()._texts
    assert planted.query is not None
    texts[planted.query] = planted.applied(texts[planted.query])


def _plant_migration(planted: Mutant) -> None:
    from penstock.storage import migrate

    number = int(planted.file.rsplit("/", 1)[-1].split("_")[0])
    changed = tuple(
        replace(one, sql=planted.applied(one.sql)) if one.version == number else one for one in migrate.migrations()
    )
    migrate.migrations = lambda: changed


def _plant(planted: Mutant) -> None:
    if planted.file.endswith(".py"):
        if planted.module() in sys.modules:
            raise LookupError(f"Mutant {planted.name!r}: {planted.module()} was imported before it could be planted.")
        sys.meta_path.insert(0, _Finder(planted))
    elif planted.query is None:
        _plant_migration(planted)
    else:
        _plant_query(planted)


def pytest_load_initial_conftests() -> None:
    """The first moment after plugins, before any test file asks for Penstock."""
    if name := os.environ.get(VARIABLE):
        try:
            _plant(mutant(name))
        except LookupError as error:
            raise pytest.UsageError(str(error)) from None
