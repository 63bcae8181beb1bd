"""`/api/article-index/queries`: saved queries, on which generations are compared."""

from fastapi import APIRouter, Request

from penstock.apps.article_search import saved_queries
from penstock.apps.article_search.shapes_index import query_body
from penstock.apps.article_search.wire_index import NewQueryBody, QueryBody, QueryId, QueryList
from penstock.service.actor import Operator, Viewer
from penstock.service.ground import ground_of
from penstock.service.ownership import whose
from penstock.service.parameters import UserId
from penstock.service.problems import documented, not_found

router = APIRouter(prefix="/api/article-index/queries", tags=["article index"], responses=documented())


@router.get("", operation_id="listQueries")
async def list_queries(request: Request, actor: Viewer, user_id: UserId = "me") -> QueryList:
    ground = ground_of(request)
    owner = whose(actor, user_id)
    async with ground.app.connection() as connection:
        found = await saved_queries.listing(connection, owner=owner)
    if owner is None:
        await ground.note_look(actor.entry("articles.look_at_queries", kind="article"))
    return QueryList(items=[query_body(one) for one in found])


@router.post("", operation_id="saveQuery", status_code=201)
async def save(request: Request, actor: Operator, body: NewQueryBody) -> QueryBody:
    """The same query again changes what is expected of it."""
    async with ground_of(request).app.connection() as connection:
        made = await saved_queries.add(connection, owner=actor.name, query=body.query, expected=body.expected)
    return query_body(made)


@router.delete("/{queryId}", operation_id="removeQuery", status_code=204)
async def remove(request: Request, actor: Operator, query_id: QueryId) -> None:
    ground = ground_of(request)
    async with ground.app.connection() as connection:
        gone = await saved_queries.remove(connection, query_id, owner=None if actor.is_admin else actor.name)
    if not gone:
        raise not_found(f"saved query {query_id}")
    if actor.is_admin:
        await ground.note(actor.entry("query.remove", kind="query", object=query_id))
