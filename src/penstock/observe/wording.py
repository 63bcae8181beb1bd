"""How times, rates and errors read in a sentence; the same in `why`, in the doctor and in every list."""

from datetime import datetime


def counted(count: int, one: str) -> str:
    """1 row, 2,000 rows."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"


def span(seconds: float) -> str:
    """3.2 s, 41 s, 12 min, 5 h, 3 d."""
    seconds = max(seconds, 0.0)
    if seconds < 10:
        return f"{seconds:.1f} s"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def ago(at: datetime | None, now: datetime) -> str:
    """A time before or after ``now``, which comes from the same clock as ``at``."""
    if at is None:
        return "some time ago"
    seconds = (now - at).total_seconds()
    return f"{span(seconds)} ago" if seconds >= 0 else f"in {span(-seconds)}"


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.2g}/s"


def size(count_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count_bytes < 1000:
            return f"{count_bytes:,.0f} {unit}" if unit == "bytes" else f"{count_bytes:.3g} {unit}"
        count_bytes /= 1000
    return f"{count_bytes:,.1f} TB"


def failure(kind: str | None, message: str | None, longest: int = 200) -> str:
    """One line of an error: its type and the beginning of its message, without a full stop."""
    short = " ".join((message or "").split())
    short = short if len(short) <= longest else short[: longest - 1] + "…"
    return ": ".join(part for part in (kind, short) if part).rstrip(".")


def stage_label(pipeline: str, stage: str) -> str:
    """As workers and commands call it: the pipeline alone where it has one stage of the same name."""
    return pipeline if pipeline == stage else f"{pipeline}/{stage}"
