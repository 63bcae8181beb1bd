"""Opens text in the user's own editor."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from penstock.errors import UsageError


def edited(text: str, *, suffix: str, instead: str = "pass --input") -> str | None:
    """The changed text; None when it was left as it was. The file is private and goes away in any case. ``instead``:
    how the command takes the text where no editor can be had."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    handle, name = tempfile.mkstemp(prefix="penstock-", suffix=suffix)
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            ended = subprocess.run([*shlex.split(chosen), name], check=False)
        except OSError as error:
            raise UsageError(f"The editor {chosen!r} cannot be started: {error}. Set EDITOR, or {instead}.") from None
        if ended.returncode:
            raise UsageError(f"The editor {chosen!r} ended with code {ended.returncode}. Nothing was changed.")
        after = path.read_text("utf-8")
    finally:
        path.unlink(missing_ok=True)
    return None if after.strip() == text.strip() else after
