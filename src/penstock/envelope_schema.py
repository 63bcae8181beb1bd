"""The JSON schema of the message, for people who read or make messages in another language.

``penstock.envelope`` decides what is read; a test holds the two to the same answers, and ``docs/messages.md`` to this.
"""

from typing import Any

from penstock.envelope import VERSION

_LARGEST_ID = 2**63 - 1
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = rf"^{_DAY}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?(Z|[+-][0-9]{{2}}:[0-9]{{2}})$"


def schema() -> dict[str, Any]:
    """Of version 1. Other versions are not described here, and are left for a newer worker."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A message of Penstock: one task is due",
        **_object(
            header=_object(
                job_id={"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
                type={"type": "string", "minLength": 1, "maxLength": 500},
                version={"const": VERSION},
                created_at={"type": "string", "pattern": _TIME},
                attempt=_whole(1, 32_767),
                max_attempts=_whole(1, 32_767),
            ),
            body=_object(task_id=_whole(1, _LARGEST_ID), lane=_whole(1, _LARGEST_ID), priority=_whole(-100, 100)),
            tracing=_object(trace_id=_hexadecimal(32), span_id=_hexadecimal(16)),
        ),
    }


def _object(**parts: dict[str, Any]) -> dict[str, Any]:
    """Exactly these."""
    return {"type": "object", "required": list(parts), "additionalProperties": False, "properties": parts}


def _whole(least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most}


def _hexadecimal(digits: int) -> dict[str, Any]:
    return {"type": ["string", "null"], "pattern": f"^[0-9a-f]{{{digits}}}$"}
