"""Any service that speaks the Reconciliation API of the W3C's community group, version 0.2."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from penstock.config import Settings
from penstock.errors import PermanentError, TransientError
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.sources import reconciliation_values as values
from penstock.extensions.linking.sources.source import Budget, Found, SourceMisconfigured
from penstock.extensions.linking.sources.source_client import SourceClient
from penstock.providers.origin import origin_of

_SETTING = "PENSTOCK_LINKING_RECONCILIATION_URL"
_LONGEST_QUERY = 1000
_MOST_PROPERTIES = 30
_CANDIDATES_OF_ID = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    text: str
    types: tuple[str, ...]
    limit: int

    def as_json(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": self.text, "limit": self.limit}
        if self.types:
            asked |= {"type": self.types[0] if len(self.types) == 1 else list(self.types), "type_strict": "any"}
        return asked


_Answer = tuple[Entity, ...] | PermanentError


@dataclass(slots=True, kw_only=True, eq=False)
class _Waiting:
    question: _Query
    group: str
    answer: "asyncio.Future[tuple[Entity, ...]]"
    taken: bool = False


class _Gathering:
    """Questions of many tasks, asked in few requests: whatever waits when a permit comes goes along with it.

    ``ask``: gets questions of one group (a language, which holds for a whole request) and answers them in order;
    an error in the place of an answer is for that question alone.

    Each of those who wait may become the one who asks for all. Nobody waits for others to come along: with permits at
    hand, a question goes out alone.
    """

    def __init__(self, ask: Callable[[list[_Query], str, Budget], Awaitable[Sequence[_Answer]]], turns: int) -> None:
        self._ask = ask
        self._turns = asyncio.Semaphore(turns)
        self._choosing = asyncio.Lock()
        self._waiting: list[_Waiting] = []

    async def answer(self, question: _Query, group: str, limiter: Budget, most: int) -> tuple[Entity, ...]:
        mine = _Waiting(question=question, group=group, answer=asyncio.get_running_loop().create_future())
        self._waiting.append(mine)
        try:
            if batch := await self._chosen(mine, limiter, most):
                await self._asked(batch, limiter)
            return await mine.answer
        finally:
            mine.answer.cancel()  # who gave up is told nothing
            if not mine.taken:
                self._waiting.remove(mine)

    async def _chosen(self, mine: _Waiting, limiter: Budget, most: int) -> list[_Waiting]:
        """One at a time waits for a turn and a permit, so that none is taken for a question that went along with
        another. Whoever gets a batch gives the turn back when it is answered."""
        async with self._choosing:
            if mine.taken:
                return []
            await self._turns.acquire()
            try:
                await limiter.acquire()
            except BaseException:
                self._turns.release()
                raise
            others = [one for one in self._waiting if one is not mine and one.group == mine.group]
            batch = [mine, *others[: most - 1]]
            for one in batch:
                one.taken = True
            self._waiting = [one for one in self._waiting if not one.taken]
            return batch

    async def _asked(self, batch: list[_Waiting], limiter: Budget) -> None:
        try:
            answers = await self._ask([one.question for one in batch], batch[0].group, limiter)
            for one, answer in zip(batch, answers, strict=True):
                if isinstance(answer, PermanentError):
                    self._fail([one], answer)
                elif not one.answer.done():
                    one.answer.set_result(answer)
        except Exception as error:
            self._fail(batch, error)
        except BaseException:
            self._fail(batch[1:], TransientError("The request that this question went along with was broken off."))
            raise
        finally:
            self._turns.release()

    def _fail(self, batch: list[_Waiting], error: Exception) -> None:
        for one in batch:
            if not one.answer.done():
                one.answer.set_exception(error)


class Reconciliation:
    """One per process. Its manifest is read with the first question, and again with the next start."""

    name = "reconciliation"
    key = "linking:reconciliation"
    # As many as one call of ``entities`` asks for in one request.
    most_ids = 10

    def __init__(self, settings: Settings) -> None:
        own = settings.of(LinkingSettings)
        url = own.reconciliation_url
        if url is None:
            raise SourceMisconfigured(
                f"{_SETTING} is not set. Set it to the address of a reconciliation service, such as"
                " https://example.org/reconcile, for the service and all workers; or use wikidata as the source."
            )
        self._client = SourceClient(own, key=self.key, url=url, setting=_SETTING)
        self._language = own.languages[0] if own.languages else "en"
        self._reading = asyncio.Lock()
        self._manifest: values.Manifest | None = None
        self._proposed: tuple[str, ...] | None = None
        self._scale = 1.0
        self._gathering = _Gathering(self._answers, own.concurrency)

    async def close(self) -> None:
        await self._client.close()

    async def search(
        self, query: str, language: str, *, types: Sequence[str] = (), limit: int = 7, limiter: Budget
    ) -> Found:
        """Every candidate comes with all that the service tells of it, so that none has to be fetched."""
        text = " ".join(query.replace("\0", " ").split())[:_LONGEST_QUERY]
        if not text:
            return Found()
        manifest = await self._read_manifest(limiter)
        asked = _Query(text=text, types=tuple(types), limit=limit)
        entities = await self._gathering.answer(asked, language, limiter, manifest.batch_size)
        return Found(ids=tuple(one.id for one in entities), entities=entities[:limit])

    async def entities(
        self, ids: Sequence[str], *, languages: Sequence[str] = (), properties: Sequence[str] = (), limiter: Budget
    ) -> dict[str, Entity | None]:
        """Services find their own ids when they are asked for them as a name; who is not found is not known."""
        manifest = await self._read_manifest(limiter)
        language = languages[0] if languages else self._language
        asked = list(dict.fromkeys(ids))
        found: dict[str, Entity | None] = {}
        for at in range(0, len(asked), manifest.batch_size):
            batch = asked[at : at + manifest.batch_size]
            await limiter.acquire()
            queries = [_Query(text=id, types=(), limit=_CANDIDATES_OF_ID) for id in batch]
            answers = await self._ask(queries, language, limiter)
            for id, some in zip(batch, answers, strict=True):
                entities = some if isinstance(some, tuple) else ()
                found[id] = next((replace(one, given_score=None) for one in entities if one.id == id), None)
            known = {one.id: one for one in found.values() if one is not None and one.id in batch}
            found |= await self._extended(known, language, properties, limiter)
        return found

    async def _answers(self, queries: list[_Query], language: str, limiter: Budget) -> list[_Answer]:
        answers = await self._ask(queries, language, limiter)
        told = {one.id: one for some in answers if isinstance(some, tuple) for one in some}
        known = await self._extended(told, language, (), limiter)
        # The score belongs to the question: the same thing may be there with several.
        return [
            tuple(replace(one, claims={**known[one.id].claims, **one.claims}) for one in some)
            if isinstance(some, tuple)
            else some
            for some in answers
        ]

    async def _ask(self, queries: list[_Query], language: str, limiter: Budget) -> list[_Answer]:
        """A query that the service refuses does not lose the others: they are asked again in halves."""
        asked = {f"q{number}": query.as_json() for number, query in enumerate(queries)}
        try:
            data = await self._post({"queries": asked}, language, limiter)
        except SourceMisconfigured:
            raise
        except PermanentError as refused:
            if len(queries) == 1:
                return [refused]
            middle = len(queries) // 2
            answers: list[_Answer] = []
            for half in (queries[:middle], queries[middle:]):
                await limiter.acquire()
                answers += await self._ask(half, language, limiter)
            return answers
        if not asked.keys() <= data.keys():
            raise self._not_understood(min(asked.keys() - data.keys()))
        candidates = [values.candidates_of(data.get(key)) for key in asked]
        self._scale = values.scale_of((one for some in candidates for one in some), self._scale)
        return [tuple(values.entity_of(one, language, self._scale) for one in some) for some in candidates]

    async def _extended(
        self, entities: Mapping[str, Entity], language: str, properties: Sequence[str], limiter: Budget
    ) -> dict[str, Entity]:
        """With the values of ``properties``, or of those that the service proposes, where it offers that."""
        manifest = await self._read_manifest(limiter)
        wanted = tuple(properties) or await self._read_proposed(manifest, limiter)
        if not manifest.extends or not entities or not wanted:
            return dict(entities)
        await limiter.acquire()
        asked = {"ids": list(entities), "properties": [{"id": name} for name in wanted[:_MOST_PROPERTIES]]}
        data = await self._post({"extend": asked}, language, limiter)
        rows = data.get("rows")
        return {id: replace(one, claims={**one.claims, **values.extended(rows, id)}) for id, one in entities.items()}

    async def _read_manifest(self, limiter: Budget) -> values.Manifest:
        async with self._reading:
            if self._manifest is None:
                url = self._client.url
                data, _ = await self._client.get(url, {}, limiter)
                self._manifest = values.manifest_of(data, url)
            if self._manifest is None:
                raise SourceMisconfigured(
                    f"{self._client.host} answered, but with no manifest of a reconciliation service. Check {_SETTING}."
                )
            return self._manifest

    async def _read_proposed(self, manifest: values.Manifest, limiter: Budget) -> tuple[str, ...]:
        """What is worth to be told of the types that the service knows mostly."""
        async with self._reading:
            if self._proposed is None:
                self._proposed = await self._ask_proposed(manifest, limiter)
            return self._proposed

    async def _ask_proposed(self, manifest: values.Manifest, limiter: Budget) -> tuple[str, ...]:
        url = manifest.proposals_url
        if url is None or origin_of(url) != self._client.origin:
            return ()
        names: dict[str, None] = {}
        for type in manifest.types[:3]:
            data, _ = await self._client.get(url, {"type": type, "limit": str(_MOST_PROPERTIES)}, limiter)
            given = data.get("properties") if isinstance(data, dict) else None
            found = [one.get("id") for one in given if isinstance(one, dict)] if isinstance(given, list) else []
            names |= dict.fromkeys(one for one in found if isinstance(one, str))
        return tuple(names)[:_MOST_PROPERTIES]

    async def _post(self, form: Mapping[str, Any], language: str, limiter: Budget) -> Mapping[str, Any]:
        """The caller has the permit."""
        sent = {name: orjson.dumps(value).decode() for name, value in form.items()}
        data = await self._client.post(sent, limiter, {"Accept-Language": language})
        if not isinstance(data, dict):
            raise self._not_understood("object")
        return data

    def _not_understood(self, what: str) -> TransientError:
        return TransientError(
            f"The answer of {self._client.host} is JSON, but there is no {what!r} in it. Check {_SETTING}."
        )
