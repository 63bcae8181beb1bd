"""Called by hatchling: a wheel holds the built web pages; an editable install is built by `make ui` instead."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))


class WebPages(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or not (Path(self.root) / "ui").is_dir():
            return
        import build_ui

        build_ui.build()
