"""What people decide about sites of an analysis: other prompts, approval, another run."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.application import Penstock
from penstock.control import jobs as job_steering
from penstock.control import tasks as task_steering
from penstock.control.acting import By
from penstock.errors import IllegalMove, NotKnown, UsageError
from penstock.extensions.sites import orders, views
from penstock.extensions.sites.findings import ASKING, FORMING, STAGES, Prompt, PromptKind
from penstock.extensions.sites.models.registry import Models
from penstock.extensions.sites.prompts.material import fold, one_line
from penstock.extensions.sites.settings import SitesSettings
from penstock.extensions.sites.submitting import require_bounds
from penstock.lifecycle import FINISHED, State
from penstock.storage import audit, items

MOST = 200
LONGEST = 500
_BATCH = 1000


def edited(texts: Iterable[str], formed: Sequence[Prompt]) -> list[Prompt]:
    """In the order given. What was left as it was formed keeps its fact; anything else is a person's own question."""
    known = {prompt.text: prompt for prompt in formed}
    found: dict[str, Prompt] = {}
    for number, text in enumerate(texts, start=1):
        if number > MOST:
            raise UsageError(f"There are more than {MOST} prompts. Leave some out; nothing was changed.")
        line = _line(number, text)
        own = Prompt(text=line, kind=PromptKind.OWN, fact="Written by a person", page=None, template="own@1")
        found.setdefault(fold(line) or line, known.get(line, own))
    if not found:
        raise UsageError("No prompt is left, so there would be nothing to ask. Keep at least one; nothing was changed.")
    return list(found.values())


def _line(number: int, text: str) -> str:
    line = one_line(text, LONGEST + 1)
    if not line:
        raise UsageError(f"Prompt {number} is empty. Write a question, or leave it out; nothing was changed.")
    if len(text) > LONGEST:
        raise UsageError(
            f"Prompt {number} has {len(text):,} characters; at most {LONGEST} are asked. Shorten it: nothing changed."
        )
    return line


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What models are asked about sites that are approved, at most, and what that may cost before a budget stops it."""

    sites: int
    calls: int
    most_cost: float


async def require_sites(connection: Any, job_id: int, site_ids: Sequence[int]) -> list[int]:
    """Each once, in the order given; one of another job is not there for this one."""
    wanted = list(dict.fromkeys(site_ids))
    known = await items.of_job(connection, job_id, wanted)
    if strange := [one for one in wanted if one not in known]:
        raise NotKnown(kind=f"site of analysis {job_id}", name=str(strange[0]))
    return wanted


async def edit_prompts(
    app: Penstock, job_id: int, site_id: int, texts: Sequence[str] | None, *, by: By
) -> list[Prompt]:
    """In the order given. A text that was formed from a fact keeps it; any other is the person's own. None: those that
    were formed take the place of edited ones again.

    Refused before there are prompts, and while models are being asked; after the end they count for the next run.
    """
    async with app.connection() as connection:
        owner = (await views.require_analysis(connection, job_id)).owner
        await require_sites(connection, job_id, [site_id])
        _may_edit(await views.details(connection, site_id))
        stages = await views.stages(connection, site_id)
        prompts = [Prompt.from_json(one) for one in stages[FORMING].result["prompts"]]
        if texts is not None:
            prompts = edited(texts, prompts)
        async with connection.transaction():
            await orders.set_prompts(connection, site_id, None if texts is None else prompts, by=by.actor)
            event = "site.prompts.reset" if texts is None else "site.prompts"
            entry = by.entry(event, kind="task", object=site_id, owner=owner, prompts=len(prompts))
            await audit.append(connection, entry)
    return prompts


def _may_edit(found: views.SiteDetails) -> None:
    site = found.site
    waits = site.state is State.PENDING and site.current_step == ASKING
    if waits or (site.state in FINISHED and FORMING in {one.stage for one in found.stages}):
        return
    wait = "Wait until its prompts are formed, or until its models have answered."
    raise _not_now("edit the prompts of", site, f"PENDING in {ASKING}", "the end", next_step=wait)


def _not_now(move: str, site: views.SiteView, *allowed: str, next_step: str) -> IllegalMove:
    subject, state = f"site {site.site_id}", f"{site.state.name} in {site.current_step}"
    return IllegalMove(move=move, subject=subject, state=state, allowed_from=allowed, next_step=next_step)


async def approve(app: Penstock, job_id: int, site_ids: Sequence[int] | None, *, by: By) -> int:
    """Models may be asked about these sites, or about all whose prompts wait for it. Returns how many are new."""
    async with app.connection() as connection:
        owner = (await views.require_analysis(connection, job_id)).owner
        chosen = None if site_ids is None else await _waiting_of(connection, job_id, site_ids)
    if chosen is not None:
        return await _approve(app, job_id, chosen, by, owner)
    return sum([await _approve(app, job_id, batch, by, owner) async for batch in _waiting(app, job_id)])


async def asking(app: Penstock, job_id: int, site_ids: Sequence[int] | None) -> Asking:
    """What an approval would do, without doing it."""
    batches = [] if site_ids is not None else [batch async for batch in _waiting(app, job_id)]
    async with app.connection() as connection:
        options = (await views.analysis(connection, job_id)).options
        if site_ids is not None:
            batches = [await _waiting_of(connection, job_id, site_ids)]
        counted = [await views.prompts_of(connection, batch) for batch in batches]
    prompts, length = (sum(one[at] for one in counted) for at in (0, 1))
    names, samples = options.get("models") or app.settings.of(SitesSettings).models, options.get("samples") or 1
    cost = Models(app).most_cost(names, questions=prompts * samples, question_bytes=length * samples)
    return Asking(sites=sum(map(len, batches)), calls=prompts * samples * len(set(names)), most_cost=cost)


async def _waiting(app: Penstock, job_id: int) -> AsyncIterator[list[int]]:
    last = 0
    while True:
        async with app.connection() as connection:
            batch = await views.waiting_for_approval(connection, job_id, after=last, limit=_BATCH)
        if not batch:
            return
        yield batch
        last = batch[-1]


async def _waiting_of(connection: Any, job_id: int, site_ids: Sequence[int]) -> list[int]:
    """Prompts that are not there yet cannot be approved: nobody has seen them."""
    wanted = await require_sites(connection, job_id, site_ids)
    waiting = await views.waiting_to_ask(connection, wanted)
    for site_id in wanted:
        if site_id not in waiting:
            site = await views.site(connection, site_id)
            wait = "Wait until its prompts are formed and wait for approval."
            raise _not_now("approve the prompts of", site, f"PENDING in {ASKING}", next_step=wait)
    return wanted


async def _approve(app: Penstock, job_id: int, batch: Sequence[int], by: By, owner: str | None) -> int:
    async with app.connection() as connection, connection.transaction():
        approved = await orders.approve(connection, batch, by=by.actor)
        if approved:
            entry = by.entry("analysis.approve", kind="job", object=job_id, owner=owner, sites=len(approved))
            await audit.append(connection, entry)
    # Also those that were approved before: whoever asks again wants them to go on.
    await job_steering.hasten(app, job_id, by=by.actor, task_ids=list(batch))
    return len(approved)


async def rerun(
    app: Penstock,
    job_id: int,
    *,
    from_stage: str,
    site_ids: Sequence[int] | None = None,
    statuses: Sequence[State] = (State.DONE, State.ERROR),
    options: Mapping[str, Any] | None = None,
    by: By,
) -> int:
    """Run sites that ended again from a stage; earlier results stay. ``options`` (replay, fresh, budget) are for this
    run; None and False: as the job says.

    Prompts are formed again only where the site or the code has changed, and models asked only what they have not
    answered yet. Returns how many start.
    """
    async with app.connection() as connection:
        owner = (await views.require_analysis(connection, job_id)).owner
    require_bounds(app.settings, options or {})
    options = {name: value for name, value in (options or {}).items() if value is not None and value is not False}
    if from_stage not in STAGES:
        raise NotKnown(kind="stage", name=from_stage, known=STAGES)
    if site_ids is not None:
        started = await _rerun_chosen(app, job_id, site_ids, from_stage, statuses, options, by)
    else:
        await _choose(app, job_id, statuses, options, by)
        started = await job_steering.reprocess(app, job_id, by=by.actor, statuses=list(statuses), from_stage=from_stage)
    async with app.connection() as connection:
        details = {"from_stage": from_stage, **options, "started": started}
        await audit.append(connection, by.entry("analysis.rerun", kind="job", object=job_id, owner=owner, **details))
    return started


async def _rerun_chosen(
    app: Penstock,
    job_id: int,
    site_ids: Sequence[int],
    from_stage: str,
    statuses: Sequence[State],
    options: Mapping[str, Any],
    by: By,
) -> int:
    async with app.connection() as connection:
        wanted = await require_sites(connection, job_id, site_ids)
        rows = await items.rows(connection, wanted)
        open_still = [row["item_id"] for row in rows if row["status"] not in FINISHED]
        if open_still:
            await task_steering.require_all(connection, open_still[:1], "reprocess")
        ended = [row["item_id"] for row in rows if row["status"] in statuses]
        await orders.set_options(connection, ended, options, by=by.actor)
    if not ended:
        return 0
    return len(await task_steering.reprocess(app, ended, by=by.actor, from_stage=from_stage))


async def _choose(app: Penstock, job_id: int, statuses: Sequence[State], options: Mapping[str, Any], by: By) -> None:
    last = 0
    while True:
        async with app.connection() as connection:
            batch = await views.ended(connection, job_id, statuses, after=last, limit=_BATCH)
            await orders.set_options(connection, batch, options, by=by.actor)
        if not batch:
            return
        last = batch[-1]
