"""Fleet-wide budgets."""

from typing import Any

from penstock.engine.events import Events


class Limiter:
    def __init__(self, key: str) -> None:
        self.key = key


class Limiters:
    def __init__(self, pool: Any, events: Events) -> None:
        self._pool = pool

    def of(self, key: str) -> Limiter:
        return Limiter(key)
