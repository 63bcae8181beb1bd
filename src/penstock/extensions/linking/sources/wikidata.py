"""Wikidata, or a Wikibase that speaks like it: names are searched, entities fetched 50 at a time."""

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.config import Settings
from penstock.errors import PermanentError, ThrottledError, TransientError
from penstock.extensions.linking.entity import Entity
from penstock.extensions.linking.settings import LinkingSettings
from penstock.extensions.linking.sources.source import Budget, Found, SourceMisconfigured
from penstock.extensions.linking.sources.source_client import SourceClient
from penstock.extensions.linking.sources.wikidata_values import entity_of
from penstock.limits.rate_headers import asked_wait_seconds

WIKIDATA = "wikidata"
# The made-up one of `penstock demo`.
SAMPLE = "sample"
_ENDPOINT = "PENSTOCK_LINKING_ENDPOINT"
# Of one call, as the API has it for people who are no bots.
_MOST = 50
# Names there are no longer than that; longer texts are refused.
_LONGEST_QUERY = 250
_LANGUAGE = re.compile(r"[a-z][a-z0-9-]{1,30}")
_ID = re.compile(r"[QP][1-9]\d{0,11}")
# Names that are the same in every language, and the language most things have a name in.
_ALWAYS = ("mul", "en")
_THROTTLED = frozenset({"maxlag", "ratelimited", "readonly"})
_SHORTEST_WAIT_SECONDS = 1.0
_LONGEST_LAG_SECONDS = 60.0
# One of the ids is to blame.
_IDS = ("no-such-entity", "invalid-entity-id", "unresolved-redirect", "param-illegal", "param-invalid")
# The same question gets the same answer.
_PERMANENT = (
    "bad", "blocked", "invalid", "missing", "mustbe", "no-such", "no_such", "param", "permission", "toomany", "unknown",
    "unrecognized",
)  # fmt: skip


class Wikidata:
    """One per process."""

    # As many as one call of ``entities`` asks for in one request.
    most_ids = _MOST

    def __init__(self, settings: Settings, *, name: str = WIKIDATA) -> None:
        self.name = name
        self.key = f"linking:{name}"
        self._settings = own = settings.of(LinkingSettings)
        self._client = SourceClient(own, key=self.key, url=own.endpoint, setting=_ENDPOINT)

    async def close(self) -> None:
        await self._client.close()

    async def search(
        self, query: str, language: str, *, types: Sequence[str] = (), limit: int = 7, limiter: Budget
    ) -> Found:
        """Types are of no use here: the search knows names only."""
        asked = " ".join(query.replace("\0", " ").split())[:_LONGEST_QUERY]
        if not asked:
            return Found()
        if not _LANGUAGE.fullmatch(language):
            raise PermanentError(f"{language[:40]!r} is no code of a language. Use codes such as en, de or zh-hant.")
        ids: dict[str, None] = {}
        start: int | None = 0
        while start is not None and len(ids) < limit:
            parameters = {
                "action": "wbsearchentities",
                "search": asked,
                "language": language,
                "uselang": language,
                "type": "item",
                "limit": str(min(limit - len(ids), _MOST)),
            }
            data = await self._ask(parameters | ({"continue": str(start)} if start else {}), limiter)
            hits = data.get("search")
            if not isinstance(hits, list):
                raise self._not_understood("search")
            told = [hit.get("id") for hit in hits if isinstance(hit, dict)]
            ids |= dict.fromkeys(id for id in told if isinstance(id, str) and _ID.fullmatch(id))
            following = data.get("search-continue")
            start = following if isinstance(following, int) and following > start and hits else None
        return Found(ids=tuple(ids)[:limit])

    async def entities(
        self, ids: Sequence[str], *, languages: Sequence[str] = (), properties: Sequence[str] = (), limiter: Budget
    ) -> dict[str, Entity | None]:
        """One request per 50 ids; more only where an id is refused, or an answer was cut for its size."""
        found: dict[str, Entity | None] = dict.fromkeys(ids)
        known = [id for id in found if _ID.fullmatch(id)]
        batches = [known[at : at + _MOST] for at in range(0, len(known), _MOST)][::-1]
        while batches:
            batch = batches.pop()
            try:
                told = await self._told(batch, languages, limiter)
            except IdRefused as refused:
                batches += _without(batch, refused.id)
                continue
            found |= told
            left = [id for id in batch if id not in told]
            batches += [left] if told and left else _without(left, None)
        return found

    async def _told(self, ids: list[str], languages: Sequence[str], limiter: Budget) -> dict[str, Entity | None]:
        """By asked id. One that the answer says nothing about is not in it."""
        chain = dict.fromkeys((*languages, *self._settings.languages, *_ALWAYS))
        codes = [code for code in chain if _LANGUAGE.fullmatch(code)]
        parameters = {
            "action": "wbgetentities",
            "ids": "|".join(ids),
            "props": "labels|aliases|descriptions|claims|sitelinks",
            "redirects": "yes",
        }
        if len(codes) <= _MOST:  # more values are cut by the source; without any, it tells all languages
            parameters["languages"] = "|".join(codes)
        data = await self._ask(parameters, limiter)
        given = data.get("entities")
        if isinstance(given, list):
            given = {one["id"]: one for one in given if isinstance(one, dict) and isinstance(one.get("id"), str)}
        if not isinstance(given, dict):
            raise self._not_understood("entities")
        # 50 countries are megabytes: heartbeats and other requests go on meanwhile.
        return await asyncio.to_thread(_entities, ids, given, _moved(data, given))

    async def _ask(self, parameters: Mapping[str, str], limiter: Budget) -> Mapping[str, Any]:
        lag = {"maxlag": str(self._settings.maxlag_seconds)}
        fixed = {"format": "json", "formatversion": "2"} | lag
        data, received = await self._client.get(self._client.url, {**parameters, **fixed}, limiter)
        if not isinstance(data, dict):
            raise self._not_understood("object")
        error = error_in(data, received.headers, host=self._client.host, key=self.key)
        if isinstance(error, ThrottledError):
            await limiter.penalise(error.retry_after, str(error))
        if error is not None:
            raise error
        return data

    def _not_understood(self, what: str) -> TransientError:
        return TransientError(
            f"The answer of {self._client.host} is JSON, but there is no {what!r} in it. Check {_ENDPOINT}: it"
            " ends with /w/api.php as a rule."
        )


def sample_source(settings: Settings) -> Wikidata:
    """The made-up Wikidata of `penstock demo`, which wants to know of nobody."""
    if settings.sample_url is None:
        raise SourceMisconfigured(
            "The made-up source is part of `penstock up` where no application is named, and is not there. Start that, "
            "or make the project anew with another source."
        )
    asked = {"linking_endpoint": f"{settings.sample_url}/w/api.php", "linking_user_agent": "penstock-demo"}
    return Wikidata(settings.model_copy(update=asked), name=SAMPLE)


def _without(batch: list[str], bad: str | None) -> list[list[str]]:
    """What to ask after a refusal: the rest where the bad one is known, halves where it is not. An id that is alone
    is the bad one, and not asked again."""
    if bad in batch:
        return [rest] if (rest := [id for id in batch if id != bad]) else []
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]] if middle else []


def _entities(ids: list[str], given: Mapping[str, Any], moved: Mapping[str, str]) -> dict[str, Entity | None]:
    told = {id: given.get(id, given.get(moved.get(id, ""))) for id in ids}
    return {id: entity_of(one) for id, one in told.items() if isinstance(one, dict)}


def _moved(data: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, str]:
    """Redirects as both forms of the answer tell them: beside the entities, or inside of each."""
    beside = data.get("redirects")
    told = [*(beside if isinstance(beside, list) else ()), *(one.get("redirects") for one in _dicts(given))]
    return {str(one.get("from")): str(one.get("to")) for one in told if isinstance(one, dict)}


def _dicts(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one for one in given.values() if isinstance(one, dict)]


class IdRefused(PermanentError):
    """``id``: the one that is to blame, where they say so."""

    def __init__(self, message: str, id: str | None) -> None:
        self.id = id
        super().__init__(message)


def error_in(data: Mapping[str, Any], headers: Mapping[str, str], *, host: str, key: str) -> Exception | None:
    """What to raise for an answer; None for a good one."""
    error = data.get("error")
    if not isinstance(error, dict):
        return None
    code, info = str(error.get("code", "")), _shown(error.get("info"))
    said = f"{host} answered with the error {_shown(code)}{f': {info}' if info else ''}"
    if code in _THROTTLED:
        wait = asked_wait_seconds(headers) or _lag_seconds(error)
        return ThrottledError(f"{said}.", retry_after=max(wait, _SHORTEST_WAIT_SECONDS), key=key)
    if code.startswith(_IDS):
        given = error.get("id")
        return IdRefused(f"{said}.", given if isinstance(given, str) else None)
    if code.startswith(_PERMANENT):
        return PermanentError(f"{said}. Check PENSTOCK_LINKING_ENDPOINT and the languages of the project.")
    return TransientError(f"{said}.")


def _lag_seconds(error: Mapping[str, Any]) -> float:
    """As long as their copies are behind; no longer than a minute, for they catch up quicker than they say."""
    lag = error.get("lag")
    if isinstance(lag, bool) or not isinstance(lag, int | float) or not math.isfinite(lag):
        return _SHORTEST_WAIT_SECONDS
    return min(float(lag), _LONGEST_LAG_SECONDS)


def _shown(text: Any) -> str:
    given = text if isinstance(text, str) else ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in given).split())[:200].rstrip(".")
