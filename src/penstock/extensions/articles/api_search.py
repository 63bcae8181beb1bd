"""`GET /api/search`, and more articles like one: answered from what is there, with how much that is."""

from typing import Annotated, cast

from fastapi import APIRouter, Query, Request

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import ground_of
from penstock.console.http.ownership import whose
from penstock.console.http.parameters import STORABLE, After, UserId
from penstock.console.http.problems import Problem, documented
from penstock.extensions.articles.api_access import article_seen, parts
from penstock.extensions.articles.searching import MOST_CHARACTERS, Answer, Mode, Question, search, similar
from penstock.extensions.articles.wire import Author, SearchBody, Since, Slug, Until

router = APIRouter(tags=["articles"], responses=documented())
_MOST_HITS = 100
Limit = Annotated[int, Query(ge=1, le=_MOST_HITS, description="How many at most.")]
Text = Annotated[
    str, Query(alias="q", min_length=1, max_length=MOST_CHARACTERS, pattern=STORABLE, description="What to find.")
]


@router.get("/api/search", operation_id="searchArticles")
async def search_articles(
    request: Request,
    actor: Viewer,
    text: Text,
    mode: Annotated[
        Mode, Query(description="`semantic`: by meaning; `keyword`: by words; `hybrid`: both, fused by rank.")
    ] = "hybrid",
    limit: Limit = 10,
    after: After = None,
    author: Author = None,
    since: Since = None,
    until: Until = None,
    user_id: UserId = "me",
) -> SearchBody:
    """Among one's own and shared articles. Where the embedder does not answer, words alone do, and `notice` says so."""
    if not text.strip():
        raise Problem(400, "The query `q` is empty. Write at least one word.")
    ground = ground_of(request)
    everything = whose(actor, user_id) is None
    query = ("search", user_id, text, mode, author, since, until)
    place = 0 if after is None else cast("int", ground.cursors.take(actor.name, query, after)[0])
    answer = await search(
        parts(request),
        Question(
            text=text,
            mode=mode,
            viewer=None if everything else actor.name,
            author=author,
            since=since,
            until=until,
            limit=limit,
            after=place,
        ),
    )
    if everything:
        await ground.note_look(actor.entry("articles.search_all", kind="article"))
    cursor = None if answer.next is None else ground.cursors.give(actor.name, query, [answer.next])
    return _body(answer, cursor)


@router.get("/api/articles/{slug}/similar", operation_id="similarArticles")
async def similar_articles(request: Request, actor: Viewer, slug: Slug, limit: Limit = 10) -> SearchBody:
    """Articles that come near to this one in meaning, without it."""
    article = await article_seen(ground_of(request), actor, slug)
    return _body(await similar(parts(request), article, actor.name, limit), None)


def _body(answer: Answer, cursor: str | None) -> SearchBody:
    return SearchBody(
        mode=answer.mode,
        asked_mode=answer.asked_mode,
        notice=answer.notice,
        items=answer.hits,
        next_cursor=cursor,
        coverage=answer.coverage,
        took_ms=answer.took_ms,
    )
