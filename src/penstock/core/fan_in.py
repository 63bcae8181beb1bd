"""What a job is to call when its last task has ended: checked when the job is stored, kept in its row.

The duty that calls it may run in a process that does not know the task, so everything it needs is decided here.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from penstock.core.define import PipelineDefinition
from penstock.core.enqueue import Callback, EnqueueOptions
from penstock.core.payload import encode
from penstock.errors import UsageError
from penstock.model import MAX_INPUT_BYTES, priority_number, seconds

# What a callback gets if its handler has parameters of these names and the caller gave no values for them.
_COUNTED = ("total", "done", "error", "not_found", "skipped", "cancelled")
PASSED: Mapping[str, Any] = {"job": 2**63 - 1, "counts": dict.fromkeys(_COUNTED, 2**63 - 1)}


def callback_of(then: PipelineDefinition, arguments: Mapping[str, Any], options: EnqueueOptions) -> Callback:
    """The arguments are checked as an enqueue of that task checks them."""
    for name, value in (("idempotency_key", options.idempotency_key), ("job", options.job_id)):
        if value is not None:
            raise UsageError(
                f"The callback {then.name!r} was given {name} = {value!r}: it belongs to the job it ends, and is"
                " enqueued once for it. Leave the option out."
            )
    checking = then.first.arguments
    passed = {name: value for name, value in PASSED.items() if name in checking.names and name not in arguments}
    values = checking.check({**arguments, **passed})
    kept = {name: value for name, value in values.items() if name not in passed}
    stored = encode(
        {"pipeline": then.name, "arguments": kept, "options": {**_stored(options), "passes": sorted(passed)}},
        what=f"callback {then.name!r}",
        limit_bytes=2 * MAX_INPUT_BYTES,
    )
    return Callback(pipeline=then, stored=stored)


def _stored(options: EnqueueOptions) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "priority": priority_number(options.priority),
        "delay_seconds": None if options.delay is None else seconds(options.delay),
        "run_at": None if options.run_at is None else options.run_at.astimezone(UTC).isoformat(),
        "unique_key": options.unique_key,
        "lane": options.lane,
        "owner": options.owner,
        "max_attempts": options.max_attempts,
        "timeout_seconds": None if options.timeout is None else seconds(options.timeout),
        "trace": options.trace,
    }
    return {name: value for name, value in chosen.items() if value is not None}
