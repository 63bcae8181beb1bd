"""Forgets keys that were only ever blocked for a while and never given a rate."""

from dataclasses import dataclass
from typing import Any

from penstock.storage import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetBlocks:
    keep_seconds: float = 3600.0
    name: str = "forget blocks"
    every_seconds: float = 300.0

    async def run_once(self, connection: Any) -> dict[str, int]:
        return {"forgotten": await limits.forget_passed_blocks(connection, older_than_seconds=self.keep_seconds)}
