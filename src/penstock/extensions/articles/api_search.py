"""`GET /api/search`, and more articles like one: answered from what is there, with how much that is."""

from typing import Annotated

from fastapi import APIRouter, Query

from penstock.console.http.actor import Viewer
from penstock.console.http.ground import Here
from penstock.console.http.ownership import whose
from penstock.console.http.parameters import STORABLE, After, UserId
from penstock.console.http.problems import Problem, documented
from penstock.console.http.wire import Wire
from penstock.extensions.articles.api_access import Author, Parts, Since, Slug, Until, article_seen
from penstock.extensions.articles.searching import MOST_CHARACTERS, Hit, Mode, Question, search, similar
from penstock.extensions.articles.statistics import Coverage


class SearchBody(Wire):
    """`mode`: how it was answered; `notice` says why that is not how it was asked."""

    mode: Mode
    asked_mode: Mode
    notice: str | None
    items: list[Hit]
    next_cursor: str | None
    coverage: Coverage
    took_ms: dict[str, float]


router = APIRouter(tags=["articles"], responses=documented())
_MOST_HITS = 100
Limit = Annotated[int, Query(ge=1, le=_MOST_HITS, description="How many at most.")]
Text = Annotated[
    str, Query(alias="q", min_length=1, max_length=MOST_CHARACTERS, pattern=STORABLE, description="What to find.")
]


@router.get("/api/search", operation_id="searchArticles")
async def search_articles(
    ground: Here,
    parts: Parts,
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
    listed = ground.listing(actor.name, "search", user_id, text, mode, author, since, until)
    viewer = whose(actor, user_id)
    answer = await search(
        parts,
        Question(
            text=text,
            mode=mode,
            viewer=viewer,
            author=author,
            since=since,
            until=until,
            limit=limit,
            after=listed.behind(after, first=0),
        ),
    )
    if viewer is None:
        await ground.note_look(actor.entry("articles.search_all", kind="article"))
    return SearchBody.from_record(answer, items=answer.hits, next_cursor=listed.cursor(answer.next))


@router.get("/api/articles/{slug}/similar", operation_id="similarArticles")
async def similar_articles(ground: Here, parts: Parts, actor: Viewer, slug: Slug, limit: Limit = 10) -> SearchBody:
    """Articles that come near to this one in meaning, without it."""
    article = await article_seen(ground, actor, slug)
    answer = await similar(parts, article, actor.name, limit)
    return SearchBody.from_record(answer, items=answer.hits, next_cursor=None)
