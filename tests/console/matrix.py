"""Who gets what from every route: one row per route. ``test_every_route`` calls each as every actor.

A new route needs a row here: say its access, and give ids and body of a request that would work for ann.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.console.world import CELLS, World

# eve is a viewer, ann an operator and the owner of everything in the world, bob another operator, root an admin.
# `revoked` is a token of ann's that was revoked, `expired` a session of hers that ended.
ACTORS = ("anonymous", "revoked", "expired", "eve", "bob", "ann", "root")
OUTSIDE = dict.fromkeys(("anonymous", "revoked", "expired"), 401)
OK = 0


class Access(Enum):
    """What each actor is answered; OK: the request works, or comes too late (409)."""

    OPEN = dict.fromkeys(ACTORS, OK)
    VIEWERS = OUTSIDE | {"eve": OK, "bob": OK, "ann": OK, "root": OK}
    OPERATORS = OUTSIDE | {"eve": 403, "bob": OK, "ann": OK, "root": OK}
    ADMINS = OUTSIDE | {"eve": 403, "bob": 403, "ann": 403, "root": OK}
    OWNER_READS = OUTSIDE | {"eve": 404, "bob": 404, "ann": OK, "root": OK}
    OWNER_WRITES = OUTSIDE | {"eve": 403, "bob": 404, "ann": OK, "root": OK}
    # Not even an admin: it is about the person.
    OWNER_ALONE = OUTSIDE | {"eve": 404, "bob": 404, "ann": OK, "root": 404}


Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """``ids`` fills the path and is asked anew for every call, so that each finds its object untouched."""

    access: Access
    ids: Callable[[World], Awaitable[Values]] | None = None
    query: Callable[[World], Values] = field(default=lambda world: {})
    body: Callable[[World], Any] | None = None
    files: Callable[[World], Any] | None = None
    # Answers without an end are called only by those who are refused; the route has tests of its own.
    endless: bool = False
    # The actors ask with a token, and this route needs a session: see test_accounts for those.
    session: bool = False

    def expected(self, actor: str) -> int:
        """The status that this actor gets, or OK."""
        status: int = self.access.value[actor]
        return 403 if self.session and status == OK else status


async def _job(world: World) -> Values:
    return {"jobId": await world.job()}


async def _finished_job(world: World) -> Values:
    """The one that the world's items belong to."""
    return {"jobId": world.job_id}


async def _job_item(world: World) -> Values:
    return {"jobId": world.job_id, "itemId": world.items["DONE"]}


async def _waiting_item(world: World) -> Values:
    return {"taskId": await world.waiting()}


async def _item(world: World) -> Values:
    return {"taskId": world.items["DONE"]}


async def _selection(world: World) -> Values:
    return {"selectionId": await world.selection()}


async def _dead_letter(world: World) -> Values:
    return {"taskId": await world.dead_letter()}


async def _dead_message(world: World) -> Values:
    return {"messageId": await world.dead_message()}


async def _stage(world: World) -> Values:
    return {"pipeline": "add", "stage": "add"}


async def _schedule(world: World) -> Values:
    return {"name": await world.schedule()}


async def _token(world: World) -> Values:
    return {"tokenId": await world.token()}


async def _session(world: World) -> Values:
    return {"sessionId": await world.session()}


async def _source(world: World) -> Values:
    return {"name": await world.source()}


async def _user(world: World) -> Values:
    return {"userName": await world.user()}


async def _analysis(world: World) -> Values:
    return {"jobId": world.analysis_id}


async def _site(world: World) -> Values:
    return {"jobId": world.analysis_id, "siteId": world.site_id}


async def _catalogue(world: World) -> Values:
    return {"jobId": (await world.catalogue())[0]}


async def _product(world: World) -> Values:
    job_id, item_id = await world.catalogue()
    return {"jobId": job_id, "itemId": item_id}


async def _article(world: World) -> Values:
    return {"slug": await world.article()}


async def _revision(world: World) -> Values:
    return {"slug": await world.article(), "number": 1}


async def _generation(world: World) -> Values:
    return {"generationId": 1}


async def _new_generation(world: World) -> Values:
    return {"generationId": await world.generation()}


async def _saved_query(world: World) -> Values:
    return {"queryId": await world.saved_query()}


async def _project(world: World) -> Values:
    return {"projectId": await world.project()}


async def _decided_project(world: World) -> Values:
    return {"projectId": await world.decided_project()}


async def _record(world: World) -> Values:
    return {"projectId": await world.project(), "number": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """A request of bob's about an object of his own, whose body names an object of ann's."""

    path: str
    # The ids of bob's for the path, and of ann's for the body.
    ids: Callable[[World, World], Awaitable[Values]]
    body: Callable[[Values], Any]
    method: str = "POST"


async def _items(bobs: World, anns: World) -> Values:
    return {"jobId": bobs.job_id, "theirs": anns.items["NOT_FOUND"]}


async def _jobs(bobs: World, anns: World) -> Values:
    return {"theirs": anns.job_id}


async def _sites(bobs: World, anns: World) -> Values:
    return {"jobId": bobs.analysis_id, "theirs": anns.site_id}


# All answered 404, as if what the body names were not there. Ids inside inputs are looked at when the task runs: see
# ``test_every_route``.
INSIDE: tuple[Inside, ...] = (
    Inside(path="/api/selections", ids=_items, body=lambda ids: {"itemIds": [ids["theirs"]]}),
    Inside(path="/api/selections", ids=_jobs, body=lambda ids: {"filter": {"jobId": ids["theirs"]}}),
    Inside(
        path="/api/jobs/{jobId}/reprocess",
        ids=_items,
        body=lambda ids: {"scope": "items", "itemIds": [ids["theirs"]]},
    ),
    Inside(path="/api/dead-letters/replay", ids=_jobs, body=lambda ids: {"jobId": ids["theirs"]}),
    Inside(path="/api/analyses/{jobId}/approve", ids=_sites, body=lambda ids: {"siteIds": [ids["theirs"]]}),
    Inside(
        path="/api/analyses/{jobId}/approve",
        ids=_sites,
        body=lambda ids: {"siteIds": [ids["theirs"]], "dryRun": True},
    ),
    Inside(
        path="/api/analyses/{jobId}/rerun",
        ids=_sites,
        body=lambda ids: {"fromStage": "model-analysis", "siteIds": [ids["theirs"]]},
    ),
)


def _of_job(world: World) -> Values:
    return {"jobId": world.job_id}


ROWS: dict[tuple[str, str], Row] = {
    # jobs and their items
    ("GET", "/api/jobs"): Row(access=Access.VIEWERS),
    ("POST", "/api/jobs"): Row(
        access=Access.OPERATORS, body=lambda world: {"pipeline": "add", "items": [{"left": 1, "right": 2}]}
    ),
    ("GET", "/api/jobs/{jobId}"): Row(access=Access.OWNER_READS, ids=_job),
    ("GET", "/api/jobs/{jobId}/timeline"): Row(access=Access.OWNER_READS, ids=_job),
    ("GET", "/api/jobs/{jobId}/slice"): Row(access=Access.OWNER_READS, ids=_job),
    ("GET", "/api/jobs/{jobId}/items/{itemId}/neighbours"): Row(access=Access.OWNER_READS, ids=_job_item),
    ("DELETE", "/api/jobs/{jobId}"): Row(access=Access.OWNER_WRITES, ids=_job),
    ("POST", "/api/jobs/{jobId}/pause"): Row(access=Access.OWNER_WRITES, ids=_job),
    ("POST", "/api/jobs/{jobId}/resume"): Row(access=Access.OWNER_WRITES, ids=_job),
    ("POST", "/api/jobs/{jobId}/cancel"): Row(access=Access.OWNER_WRITES, ids=_job),
    ("POST", "/api/jobs/{jobId}/reprocess"): Row(
        access=Access.OWNER_WRITES,
        ids=_finished_job,
        body=lambda world: {"scope": "items", "itemIds": [world.items["NOT_FOUND"]]},
    ),
    ("POST", "/api/jobs/{jobId}/kickoff"): Row(
        access=Access.OWNER_WRITES, ids=_job, query=lambda world: {"durationMs": 100}
    ),
    ("GET", "/api/jobs/{jobId}/items"): Row(access=Access.OWNER_READS, ids=_job),
    ("POST", "/api/jobs/{jobId}/export"): Row(access=Access.OWNER_READS, ids=_finished_job),
    ("GET", "/api/pending"): Row(access=Access.OWNER_READS, query=_of_job),
    # Others' are left out of the answer.
    ("GET", "/api/items"): Row(access=Access.VIEWERS, query=lambda world: {"ids": world.items["NOT_FOUND"]}),
    ("POST", "/api/selections"): Row(
        access=Access.OWNER_WRITES,
        body=lambda world: {"filter": {"jobId": world.job_id, "statuses": ["NOT_FOUND"]}},
    ),
    ("POST", "/api/selections/{selectionId}/actions"): Row(
        access=Access.OWNER_WRITES, ids=_selection, body=lambda world: {"action": "reprocess"}
    ),
    # files from elsewhere
    ("GET", "/api/ingestion/sources"): Row(access=Access.VIEWERS),
    ("POST", "/api/ingestion/sources"): Row(
        access=Access.ADMINS,
        body=lambda world: {
            "name": world.new_name(),
            "kind": "folder",
            "place": {"path": world.folder},
            "pipeline": "look_up",
        },
    ),
    ("DELETE", "/api/ingestion/sources/{name}"): Row(access=Access.ADMINS, ids=_source),
    ("POST", "/api/ingestion/sources/{name}/test"): Row(access=Access.OWNER_WRITES, ids=_source),
    ("GET", "/api/ingestion/sources/{name}/files"): Row(access=Access.OWNER_READS, ids=_source),
    ("POST", "/api/ingestion/scan"): Row(
        access=Access.OWNER_WRITES, ids=_source, body=lambda world: {"source": world.source_name}
    ),
    ("GET", "/api/pipelines"): Row(access=Access.VIEWERS),
    ("POST", "/api/uploads/preview"): Row(
        access=Access.OPERATORS, files=lambda world: {"file": ("list.csv", b"title\nLamp\n")}
    ),
    # catalogues
    ("GET", "/api/catalogues"): Row(access=Access.VIEWERS),
    ("GET", "/api/catalogues/providers"): Row(access=Access.VIEWERS),
    ("GET", "/api/catalogues/{jobId}"): Row(access=Access.OWNER_READS, ids=_catalogue),
    ("GET", "/api/catalogues/{jobId}/items/{itemId}"): Row(access=Access.OWNER_READS, ids=_product),
    # people
    ("GET", "/api/me"): Row(access=Access.VIEWERS),
    ("POST", "/api/logout"): Row(access=Access.VIEWERS),
    ("GET", "/api/me/tokens"): Row(access=Access.VIEWERS),
    ("POST", "/api/me/tokens"): Row(access=Access.VIEWERS, session=True, body=lambda world: {"name": "script"}),
    ("DELETE", "/api/me/tokens/{tokenId}"): Row(access=Access.OWNER_ALONE, ids=_token),
    ("GET", "/api/users"): Row(access=Access.ADMINS),
    ("POST", "/api/users"): Row(access=Access.ADMINS, body=lambda world: {"name": world.new_name()}),
    ("PATCH", "/api/users/{userName}"): Row(access=Access.ADMINS, ids=_user, body=lambda world: {"role": "viewer"}),
    ("POST", "/api/users/{userName}/login-link"): Row(access=Access.ADMINS, session=True, ids=_user),
    ("DELETE", "/api/users/{userName}/password"): Row(access=Access.ADMINS, ids=_user),
    ("PUT", "/api/me/password"): Row(
        access=Access.VIEWERS, session=True, body=lambda world: {"new": "lamps light the long corridor"}
    ),
    ("GET", "/api/me/sessions"): Row(access=Access.VIEWERS),
    ("DELETE", "/api/me/sessions"): Row(access=Access.VIEWERS),
    ("DELETE", "/api/me/sessions/{sessionId}"): Row(access=Access.OWNER_ALONE, ids=_session),
    ("GET", "/api/settings"): Row(access=Access.VIEWERS),
    ("PATCH", "/api/settings"): Row(access=Access.ADMINS, body=lambda world: {"flags": {"pendingPage": True}}),
    ("GET", "/api/audit"): Row(access=Access.OPERATORS),
    # the fleet
    ("GET", "/api/overview"): Row(access=Access.VIEWERS),
    ("GET", "/api/history"): Row(access=Access.VIEWERS),
    ("GET", "/api/stages"): Row(access=Access.VIEWERS),
    ("GET", "/api/stages/{pipeline}/{stage}"): Row(access=Access.VIEWERS, ids=_stage),
    ("POST", "/api/stages/{pipeline}/{stage}/pause"): Row(
        access=Access.OPERATORS, ids=_stage, body=lambda world: {"reason": "rest"}
    ),
    ("POST", "/api/stages/{pipeline}/{stage}/resume"): Row(access=Access.OPERATORS, ids=_stage),
    ("PATCH", "/api/stages/{pipeline}/{stage}/limit"): Row(
        access=Access.OPERATORS, ids=_stage, body=lambda world: {"maxRunning": 5}
    ),
    ("GET", "/api/workers"): Row(access=Access.VIEWERS),
    ("GET", "/api/limits"): Row(access=Access.VIEWERS),
    ("PUT", "/api/limits"): Row(access=Access.OPERATORS, body=lambda world: {"key": "shop", "rate": 5}),
    ("POST", "/api/limits/block"): Row(access=Access.OPERATORS, body=lambda world: {"key": "shop", "seconds": 1}),
    ("DELETE", "/api/limits"): Row(access=Access.OPERATORS, query=lambda world: {"key": world.limit_key}),
    ("GET", "/api/schedules"): Row(access=Access.VIEWERS),
    ("POST", "/api/schedules/{name}/pause"): Row(access=Access.OPERATORS, ids=_schedule),
    ("POST", "/api/schedules/{name}/resume"): Row(access=Access.OPERATORS, ids=_schedule),
    ("POST", "/api/schedules/{name}/fire"): Row(access=Access.OPERATORS, ids=_schedule),
    # dead letters and single items; with ids of ann's in query and body
    ("GET", "/api/dead-letters"): Row(access=Access.OWNER_READS, query=_of_job),
    ("POST", "/api/dead-letters/replay"): Row(access=Access.OWNER_WRITES, body=_of_job),
    ("POST", "/api/dead-letters/{taskId}/replay"): Row(access=Access.OWNER_WRITES, ids=_dead_letter),
    ("GET", "/api/dead-letters/messages"): Row(access=Access.ADMINS),
    ("POST", "/api/dead-letters/messages/replay"): Row(access=Access.ADMINS, body=lambda world: {"most": 1}),
    ("GET", "/api/dead-letters/messages/{messageId}"): Row(access=Access.ADMINS, ids=_dead_message),
    ("DELETE", "/api/dead-letters/messages/{messageId}"): Row(access=Access.ADMINS, ids=_dead_message),
    ("POST", "/api/dead-letters/messages/{messageId}/replay"): Row(access=Access.ADMINS, ids=_dead_message),
    ("PATCH", "/api/dead-letters/{taskId}"): Row(
        access=Access.OWNER_WRITES,
        ids=_dead_letter,
        body=lambda world: {"input": {"row": 1, "cells": [CELLS["DONE"]]}},
    ),
    ("GET", "/api/errors"): Row(access=Access.OWNER_READS, query=_of_job),
    ("GET", "/api/tasks/{taskId}"): Row(access=Access.OWNER_READS, ids=_item),
    ("POST", "/api/tasks/{taskId}/cancel"): Row(access=Access.OWNER_WRITES, ids=_waiting_item),
    ("GET", "/api/tasks/{taskId}/why"): Row(access=Access.OWNER_READS, ids=_item),
    # website analysis
    ("GET", "/api/analyses"): Row(access=Access.VIEWERS),
    ("POST", "/api/analyses"): Row(access=Access.OPERATORS, body=lambda world: {"url": "lamps.example"}),
    ("GET", "/api/analyses/{jobId}"): Row(access=Access.OWNER_READS, ids=_analysis),
    ("GET", "/api/analyses/{jobId}/sites"): Row(access=Access.OWNER_READS, ids=_analysis),
    ("GET", "/api/analyses/{jobId}/sites/now"): Row(
        access=Access.OWNER_READS, ids=_analysis, query=lambda world: {"ids": world.site_id}
    ),
    ("GET", "/api/analyses/{jobId}/sites/{siteId}"): Row(access=Access.OWNER_READS, ids=_site),
    ("GET", "/api/analyses/{jobId}/report"): Row(access=Access.OWNER_READS, ids=_analysis),
    ("PUT", "/api/analyses/{jobId}/sites/{siteId}/prompts"): Row(
        access=Access.OWNER_WRITES, ids=_site, body=lambda world: {"prompts": ["Who sells lamps?"]}
    ),
    ("DELETE", "/api/analyses/{jobId}/sites/{siteId}/prompts"): Row(access=Access.OWNER_WRITES, ids=_site),
    ("POST", "/api/analyses/{jobId}/approve"): Row(
        access=Access.OWNER_WRITES, ids=_analysis, body=lambda world: {"siteIds": [world.site_id]}
    ),
    ("POST", "/api/analyses/{jobId}/rerun"): Row(
        access=Access.OWNER_WRITES, ids=_analysis, body=lambda world: {"fromStage": "model-analysis"}
    ),
    ("GET", "/api/models"): Row(access=Access.VIEWERS),
    # article search
    ("GET", "/api/articles"): Row(access=Access.VIEWERS),
    ("GET", "/api/articles-now"): Row(access=Access.VIEWERS, query=lambda world: {"slug": "lamps"}),
    ("POST", "/api/articles"): Row(
        access=Access.OPERATORS, body=lambda world: {"title": "Lamps", "content": "Lamps give light."}
    ),
    ("POST", "/api/articles/import"): Row(
        access=Access.OPERATORS,
        files=lambda world: {"file": ("lamps.md", b"# Lamps\n\nLamps give light.\n", "text/markdown")},
    ),
    ("GET", "/api/articles/{slug}"): Row(access=Access.OWNER_READS, ids=_article),
    ("PUT", "/api/articles/{slug}"): Row(
        access=Access.OWNER_WRITES, ids=_article, body=lambda world: {"content": world.new_name()}
    ),
    ("DELETE", "/api/articles/{slug}"): Row(access=Access.OWNER_WRITES, ids=_article),
    ("GET", "/api/articles/{slug}/revisions"): Row(access=Access.OWNER_READS, ids=_article),
    ("GET", "/api/articles/{slug}/revisions/{number}"): Row(access=Access.OWNER_READS, ids=_revision),
    ("GET", "/api/articles/{slug}/similar"): Row(access=Access.OWNER_READS, ids=_article),
    ("GET", "/api/search"): Row(access=Access.VIEWERS, query=lambda world: {"q": "light"}),
    ("GET", "/api/article-index"): Row(access=Access.VIEWERS),
    ("GET", "/api/article-index/tasks"): Row(access=Access.VIEWERS),
    ("POST", "/api/article-index/reindex"): Row(access=Access.ADMINS, body=lambda world: {"scope": "missing"}),
    ("POST", "/api/article-index/retry-failed"): Row(access=Access.ADMINS, body=lambda world: {"category": "data"}),
    ("POST", "/api/article-index/clear"): Row(access=Access.ADMINS, body=lambda world: {"olderThanDays": 30}),
    ("GET", "/api/article-index/generations"): Row(access=Access.VIEWERS),
    ("POST", "/api/article-index/generations"): Row(
        access=Access.ADMINS, body=lambda world: {"name": world.new_name(), "chunkCharacters": 400, "overlap": 50}
    ),
    ("GET", "/api/article-index/generations/{generationId}"): Row(access=Access.VIEWERS, ids=_generation),
    ("POST", "/api/article-index/generations/roll-back"): Row(access=Access.ADMINS),
    ("POST", "/api/article-index/generations/{generationId}/switch"): Row(access=Access.ADMINS, ids=_generation),
    ("DELETE", "/api/article-index/generations/{generationId}"): Row(access=Access.ADMINS, ids=_new_generation),
    ("GET", "/api/article-index/generations/{generationId}/comparison"): Row(
        access=Access.ADMINS, ids=_new_generation, query=lambda world: {"with": 1}
    ),
    ("GET", "/api/article-index/queries"): Row(access=Access.VIEWERS),
    ("POST", "/api/article-index/queries"): Row(access=Access.OPERATORS, body=lambda world: {"query": "light"}),
    ("DELETE", "/api/article-index/queries/{queryId}"): Row(access=Access.OWNER_WRITES, ids=_saved_query),
    # record linking
    ("GET", "/api/linking"): Row(access=Access.VIEWERS),
    ("POST", "/api/projects/preview"): Row(
        access=Access.OPERATORS, files=lambda world: {"file": ("people.csv", b"name,born\nAda,1815\n", "text/csv")}
    ),
    ("GET", "/api/projects"): Row(access=Access.VIEWERS),
    ("POST", "/api/projects"): Row(
        access=Access.OPERATORS, body=lambda world: {"name": "People", "rows": [{"name": "Ada"}]}
    ),
    ("GET", "/api/projects/{projectId}"): Row(access=Access.OWNER_READS, ids=_project),
    ("PATCH", "/api/projects/{projectId}"): Row(
        access=Access.OWNER_WRITES, ids=_project, body=lambda world: {"name": "Persons"}
    ),
    ("DELETE", "/api/projects/{projectId}"): Row(access=Access.OWNER_WRITES, ids=_project),
    # Without a contact for its requests the source is not asked: 409.
    ("POST", "/api/projects/{projectId}/match"): Row(access=Access.OWNER_WRITES, ids=_project),
    ("POST", "/api/projects/{projectId}/cancel"): Row(access=Access.OWNER_WRITES, ids=_project),
    ("POST", "/api/projects/{projectId}/rerank"): Row(access=Access.OWNER_WRITES, ids=_project),
    ("GET", "/api/projects/{projectId}/scores"): Row(access=Access.OWNER_READS, ids=_project),
    ("GET", "/api/projects/{projectId}/records"): Row(access=Access.OWNER_READS, ids=_project),
    ("GET", "/api/projects/{projectId}/records/{number}"): Row(access=Access.OWNER_READS, ids=_record),
    ("GET", "/api/projects/{projectId}/records/{number}/history"): Row(access=Access.OWNER_READS, ids=_record),
    ("POST", "/api/projects/{projectId}/records/{number}/accept"): Row(
        access=Access.OWNER_WRITES, ids=_record, body=lambda world: {"entity": "Q42"}
    ),
    ("POST", "/api/projects/{projectId}/records/{number}/reject"): Row(access=Access.OWNER_WRITES, ids=_record),
    ("POST", "/api/projects/{projectId}/records/{number}/reopen"): Row(access=Access.OWNER_WRITES, ids=_record),
    ("POST", "/api/projects/{projectId}/records/{number}/note"): Row(
        access=Access.OWNER_WRITES, ids=_record, body=lambda world: {"note": "ask again"}
    ),
    ("POST", "/api/projects/{projectId}/accept"): Row(
        access=Access.OWNER_WRITES, ids=_project, body=lambda world: {"minScore": 0.5}
    ),
    ("POST", "/api/projects/{projectId}/undo"): Row(
        access=Access.OWNER_WRITES, ids=_decided_project, body=lambda world: {"record": 1}
    ),
    ("POST", "/api/projects/{projectId}/export"): Row(access=Access.OWNER_READS, ids=_project),
    # operations
    ("GET", "/api/stream"): Row(access=Access.VIEWERS, endless=True),
    ("GET", "/healthz"): Row(access=Access.OPEN),
    ("GET", "/readyz"): Row(access=Access.OPEN),
    ("GET", "/metrics"): Row(access=Access.OPEN),
}
