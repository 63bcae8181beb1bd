"""Sentences about sites that several commands of `penstock sites` say."""

import shutil
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.insight.wording import counted
from penstock.terminal.readable import clean
from penstock.terminal.session import Session

if TYPE_CHECKING:
    from penstock.extensions.sites.views import AnalysisView, SiteView

_NARROWEST = 40
_NAMED_SITES = 5
SHOWN_FAILURES = 3


def approval(job: int) -> str:
    """What to do about an analysis that waits for a person."""
    shown = f"penstock sites prompts {job}"
    return f"`{shown}` shows the prompts, `{shown} --approve` lets models be asked"


def failures(view: "AnalysisView", shown: Iterable["SiteView"]) -> list[str]:
    """Why sites failed, each with its whole sentence, and how to go on."""
    job, count = view.job_id, view.counts.error
    lines = [f"{clean(site.url)}: {clean(site.error or 'no reason was recorded.')}" for site in shown]
    if not lines:
        return []
    if count > len(lines):
        lines.append(f"{count - len(lines):,} more failed: `penstock sites status {job}` shows them.")
    again = f"penstock sites run {job}" + ("" if view.counts.total == 1 else " --statuses error")
    return [*lines, f"When the cause is mended: `{again}`."]


def not_started(view: "AnalysisView", statuses: str) -> str:
    """Why `run` started nothing."""
    job, counts = view.job_id, view.counts
    said = f"No site of analysis {job} was started"
    if view.waits_for_approval:
        return f"{said}: it waits for approval of its prompts. {approval(job)}."
    if open_still := counts.total - counts.finished:
        verb = "has" if open_still == 1 else "have"
        return (
            f"{said}: {counted(open_still, 'site')} {verb} not ended yet, and only what has ended can run again. "
            f"`penstock sites status {job}` shows where it stands; `penstock jobs cancel {job}` ends it now."
        )
    ended = "its site did not end" if counts.total == 1 else f"none of its {counts.total:,} sites ended"
    return f"{said}: {ended} as {statuses}. Choose others with --statuses."


def notes(session: Session, found: Iterable[tuple[int, str | None]]) -> str:
    """What sites wait for or failed with, whole: sites with the same sentence together."""
    sites: dict[str, list[int]] = {}
    for site_id, note in found:
        if note:
            sites.setdefault(clean(" ".join(note.split())), []).append(site_id)
    return "\n".join(_wrapped(session, f"{_sites(ids)}: {note}") for note, ids in sites.items())


def _sites(ids: list[int]) -> str:
    if len(ids) == 1:
        return f"site {ids[0]}"
    more = f" and {len(ids) - _NAMED_SITES:,} more" if len(ids) > _NAMED_SITES else ""
    return f"sites {', '.join(map(str, ids[:_NAMED_SITES]))}{more}"


def _wrapped(session: Session, text: str) -> str:
    """On a terminal at words; elsewhere one line each, for programs that look for them."""
    if not session.out.stdout.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
