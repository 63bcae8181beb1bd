"""What an exported file is called."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

_LONGEST = 100
# What a file system or a header gives a meaning to, and what cannot be seen.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\"'*/:;<>?\\|%]+")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ._()+,=@~-]+")


def file_name(job_id: int, job: Mapping[str, Any], ending: str) -> str:
    """After the file that was sent, or the job's own name; ``job`` is the stored job."""
    metadata = job.get("metadata")
    sent = metadata.get("file_name") if isinstance(metadata, Mapping) else None
    stem = PurePosixPath(sent).stem if isinstance(sent, str) else job.get("name")
    cleaned = _UNSAFE.sub(" ", stem).strip(" .")[:_LONGEST].strip(" .") if isinstance(stem, str) else ""
    return f"{cleaned or 'job'} {job_id}.{ending}"


def disposition(name: str) -> str:
    """``Content-Disposition`` of RFC 6266: a plain name for old clients, the real one for all others."""
    plain = _NOT_PLAIN.sub("_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
