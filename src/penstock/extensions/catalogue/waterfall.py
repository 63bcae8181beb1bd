"""Asks one provider after the other until one knows the product, and writes down every question.

Exact numbers first, of all providers: a title that is alike at the first one must not win over the number at the
second. Titles follow only where nobody knows the numbers, so a row costs more questions only there.

A second attempt that asks the same again would only find what was added meanwhile, so each attempt asks for something
else. Exact keys are asked in all of them: the attempt before may have ended before it came to them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product
from time import perf_counter

from penstock import Context
from penstock.extensions.catalogue.folding import fold, significant, without_brand, without_sizes
from penstock.extensions.catalogue.provider import Hit, NotAsked, Provider, Query, Rejected
from penstock.extensions.catalogue.search_events import Recorder, SearchEvent
from penstock.extensions.catalogue.understood import Understood

_FIRST_WORDS = 3
_STRATEGIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    hit: Hit
    provider: str
    query: Query
    at: datetime


@dataclass(slots=True)
class _Notes:
    """Of one run of one task."""

    ctx: Context
    events: list[SearchEvent] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def add(
        self,
        provider: Provider,
        query: Query,
        since: float,
        hit: bool | None,
        *,
        error: str | None = None,
        rejected: str | None = None,
    ) -> None:
        event = SearchEvent(
            task_id=self.ctx.task_id,
            job_id=self.ctx.job_id,
            attempt=self.ctx.attempt,
            provider=provider.name,
            query=str(query),
            hit=hit,
            ms=round((perf_counter() - since) * 1000, 3),
            cost=provider.cost,
            error=error,
        )
        self.events.append(event)
        why = "" if rejected is None else f": {rejected}"
        self.asked.append(f"{event.query} ({event.provider}{why})")


async def ask(
    ctx: Context, providers: Sequence[Provider], queries: Sequence[Query], recorder: Recorder
) -> tuple[Found | None, list[str]]:
    """What was found, if anything, and what was asked, for people. When this returns or raises, it is written down."""
    notes = _Notes(ctx)
    try:
        answer = await _first_hit(notes, providers, queries)
    except Exception:
        if notes.events:
            await recorder.record(notes.events)
        raise
    if not notes.events:
        return None, notes.asked
    at = await recorder.record(notes.events)
    if answer is None:
        return None, notes.asked
    provider, query, hit = answer
    return Found(hit=hit, provider=provider.name, query=query, at=at), notes.asked


async def _first_hit(
    notes: _Notes, providers: Sequence[Provider], queries: Sequence[Query]
) -> tuple[Provider, Query, Hit] | None:
    exact = [query for query in queries if query.by_number]
    texts = [query for query in queries if not query.by_number]
    for provider, query in (*product(providers, exact), *product(providers, texts)):
        if not provider.serves(query):
            continue
        hit = await _asked(notes, provider, query)
        if hit is not None:
            return provider, query, hit
    return None


async def _asked(notes: _Notes, provider: Provider, query: Query) -> Hit | None:
    since = perf_counter()
    try:
        answer = await provider.look_up(query, notes.ctx)
    except NotAsked:
        raise
    except Exception as error:
        notes.add(provider, query, since, None, error=f"{type(error).__name__}: {error}")
        raise
    if isinstance(answer, Rejected):
        notes.add(provider, query, since, False, rejected=answer.why)
        return None
    notes.add(provider, query, since, answer is not None)
    return answer


def result_of(found: Found, names: Mapping[str, str]) -> tuple[dict[str, object], dict[str, dict[str, str]]]:
    """Columns and where each of them came from. ``names``: field → heading."""
    columns: dict[str, object] = {heading: found.hit.fields.get(name) for name, heading in names.items()}
    columns |= {"Match": found.hit.match, "Score": found.hit.score}
    source = {"provider": found.provider, "query": str(found.query), "at": found.at.isoformat()}
    return columns, {heading: source for heading, value in columns.items() if value is not None}


def queries_for(understood: Understood, attempt: int) -> list[Query]:
    """``attempt`` counts from 1; behind the last strategy the first comes again."""
    brand, title = fold(understood.brand or ""), fold(understood.title or "")
    exact: list[Query] = []
    if understood.gtin:
        exact.append(Query(kind="gtin", gtin=understood.gtin))
    if understood.sku:
        exact.append(Query(kind="sku", sku=understood.sku, brand=brand or None))
    asked = exact + _texts(brand, title, (attempt - 1) % _STRATEGIES)
    return [replace(query, row=understood) for query in asked]


def providers_for(order: Sequence[str], attempt: int) -> list[str]:
    """As chosen at first, then the next one to the front each time."""
    turn = (attempt - 1) % len(order) if order else 0
    return [*order[turn:], *order[:turn]]


def _texts(brand: str, title: str, strategy: int) -> list[Query]:
    if not title:
        return []
    bare = without_brand(brand, title) or title
    if strategy == 0:
        asked = [Query(kind="brand+title", brand=brand, title=bare)] if brand else []
        return [*asked, Query(kind="title", title=title)]
    shorter = without_sizes(bare) or bare
    if strategy == 2:
        shorter = significant(shorter, _FIRST_WORDS) or shorter
    return [Query(kind="title", title=shorter, loose=True)]
