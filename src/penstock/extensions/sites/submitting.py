"""Takes sites in: addresses however they come, options checked, one job of them all."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.application import Penstock
from penstock.config import Settings
from penstock.console.files.room import require_room
from penstock.console.files.submit import Submission, earlier_of, submit_items
from penstock.errors import HandlerError, InvalidSetting, UsageError
from penstock.extensions.sites import bulk
from penstock.extensions.sites.bulk import ParsedSites
from penstock.extensions.sites.fetch.fetched import SiteBusy
from penstock.extensions.sites.fetch.live import Client, LiveFetcher
from penstock.extensions.sites.models.registry import Models
from penstock.extensions.sites.settings import SitesSettings, chosen

MOST_SAMPLES = 50
MOST_PROMPTS = 200
MOST_BUDGET = 1_000_000
_SHOWN_CHARACTERS = 200
# Somebody waits for the answer.
_SITEMAP_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Where the addresses come from, all of them together, and what was chosen for the analysis."""

    urls: Sequence[str] = ()
    text: str | None = None
    sitemap: str | None = None
    csv: bytes | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """``refused``: what was given, and why it is no site. ``created`` is false where the idempotency key was known:
    then nothing was stored, and ``sites`` counts those of the earlier job."""

    job_id: int
    created: bool
    sites: int
    duplicates: int
    refused: tuple[tuple[str, str], ...]


async def submit(app: Penstock, submission: Submission, wish: Wish) -> Added:
    """All sites or none; stored when this returns. What is no address is told and left out."""
    checked = options_of(app, wish.options)
    if (earlier := await earlier_of(app, submission)) is not None:
        return await _known(app, earlier.job_id)
    await require_room(app, submission.owner)
    found = await addresses(app, wish)
    if not found.urls:
        raise UsageError(_nothing(found))
    name = submission.name or (found.urls[0] if len(found.urls) == 1 else f"{len(found.urls):,} sites")
    listed = [{"url": url} for url in found.urls]
    done = await submit_items(app, replace(submission, name=name, options=checked), listed, kind="sites")
    if not done.created:
        return await _known(app, done.job_id)
    return Added(
        job_id=done.job_id,
        created=True,
        sites=len(found.urls),
        duplicates=found.duplicates,
        refused=tuple((_shown(text), why) for text, why in found.refused),
    )


def options_of(app: Penstock, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the job keeps: the choices over the settings as they are now, checked."""
    settings = app.settings
    require_bounds(settings, given)
    options = chosen(settings, given)
    require_bounds(settings, options.as_json())
    _require_models(app, options.models)
    return options.as_json()


def require_bounds(settings: Settings, given: Mapping[str, Any]) -> None:
    """Those that are given, and are none: options also come as JSON that no model of a route has checked."""
    for name, most in {
        "pages": settings.of(SitesSettings).max_pages,
        "samples": MOST_SAMPLES,
        "prompts": MOST_PROMPTS,
    }.items():
        value = given.get(name)
        if value is not None and not (type(value) is int and 1 <= value <= most):
            raise InvalidSetting(name, value, f"use 1 to {most:,}")
    budget = given.get("budget")
    if budget is not None and not (type(budget) in (int, float) and 0 <= budget <= MOST_BUDGET):
        raise InvalidSetting("budget", budget, f"use 0 to {MOST_BUDGET:,}, in the currency of the prices")
    models = given.get("models")
    if models is not None and not (isinstance(models, list | tuple) and all(isinstance(one, str) for one in models)):
        raise InvalidSetting("models", models, "must be a list of model names")
    for name in ("review", "replay", "fresh"):
        if not isinstance(given.get(name), bool | None):
            raise InvalidSetting(name, given[name], "use true or false")


def _require_models(app: Penstock, names: Sequence[str]) -> None:
    known = [view.name for view in Models(app).listing()]
    if not names:
        raise InvalidSetting("models", list(names), f"name at least one of {', '.join(known)}")
    for name in names:
        if name not in known:
            raise InvalidSetting(
                "models", name, f"known are {', '.join(known)}; PENSTOCK_SITES_MODELS_FILE adds others"
            )


async def addresses(app: Penstock, wish: Wish) -> ParsedSites:
    """From every place that was named, each site once."""
    parts = [bulk.of_texts(wish.urls)] if wish.urls else []
    if wish.text is not None:
        parts.append(bulk.addresses(wish.text))
    if wish.csv is not None:
        parts.append(bulk.from_csv(wish.csv))
    if wish.sitemap is not None:
        try:
            parts.append(await _listed(app, wish.sitemap))
        except HandlerError as error:
            raise UsageError(f"The sitemap {_shown(wish.sitemap)} cannot be read: {error}") from error
    if not parts:
        raise UsageError("No site was named. Give `url`, `urls`, `text`, `sitemap`, or a CSV file.")
    return bulk.together(parts)


async def _listed(app: Penstock, sitemap: str) -> ParsedSites:
    """With the guarded client of the stages: whoever may add sites may not look into the private network either."""
    client = Client(app)
    try:
        async with asyncio.timeout(_SITEMAP_SECONDS):
            return await bulk.listed_by(sitemap, LiveFetcher(None, client))
    except TimeoutError:
        raise SiteBusy(f"it took longer than {_SITEMAP_SECONDS:g} s.") from None
    finally:
        await client.close()


async def _known(app: Penstock, job_id: int) -> Added:
    counts = await app.job_by_id(job_id).counts()
    return Added(job_id=job_id, created=False, sites=counts.total, duplicates=0, refused=())


def _nothing(found: ParsedSites) -> str:
    if not found.refused:
        return "There is no address in what was given. Send at least one, such as example.com."
    text, why = found.refused[0]
    if len(found.refused) == 1:
        return f"{_shown(text)!r} cannot be analysed: {why}"
    return f"None of the {len(found.refused):,} addresses can be analysed. The first, {_shown(text)!r}: {why}"


def _shown(text: str) -> str:
    return text[:_SHOWN_CHARACTERS]
