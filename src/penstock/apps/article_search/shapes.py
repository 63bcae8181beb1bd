"""Records of articles and searches as the wire has them."""

from typing import Any

from penstock.apps.article_search.article import Article, Revision, Summary
from penstock.apps.article_search.coverage import Coverage
from penstock.apps.article_search.searching import Answer, Hit, Score
from penstock.apps.article_search.standing import Standing
from penstock.apps.article_search.wire import (
    ArticleBody,
    ArticleDetail,
    CoverageBody,
    EmbeddingBody,
    HitBody,
    KeywordScore,
    Mark,
    PassageBody,
    RevisionBody,
    RevisionDetail,
    SavedBody,
    ScoreBody,
    SearchBody,
    SemanticScore,
)
from penstock.apps.article_search.writing import Saved


def summary_of(article: Article) -> Summary:
    return Summary(
        id=article.id,
        slug=article.slug,
        title=article.title,
        revision=article.revision,
        owner=article.owner,
        visibility=article.visibility,
        shared_from=article.shared_from,
        task_id=article.task_id,
        created_at=article.created_at,
        updated_at=article.updated_at,
    )


def article_body(article: Summary, standing: Standing, *, whole: bool) -> ArticleBody:
    return ArticleBody(**_fields(article, standing, whole))


def article_detail(article: Article, standing: Standing, *, whole: bool) -> ArticleDetail:
    return ArticleDetail(
        **_fields(summary_of(article), standing, whole),
        content=article.content,
        edited_by=article.author,
        message=article.message,
        source=article.source,
    )


def saved_body(saved: Saved, standing: Standing) -> SavedBody:
    """Whoever saves an article may know everything about it."""
    return SavedBody(
        **_fields(summary_of(saved.article), standing, True),
        changed=saved.changed,
        task_ids=list(saved.tasks),
        note=saved.note,
    )


def current_of(article: Article) -> dict[str, Any]:
    """What an editor who came second needs to go on."""
    return {
        "revision": article.revision,
        "title": article.title,
        "content": article.content,
        "author": article.author,
        "updatedAt": article.updated_at.isoformat(),
    }


def revision_body(revision: Revision, *, whole: bool) -> RevisionBody:
    return RevisionBody(**_of_revision(revision, whole))


def revision_detail(revision: Revision, *, whole: bool) -> RevisionDetail:
    return RevisionDetail(**_of_revision(revision, whole), content=revision.content)


def search_body(answer: Answer, cursor: str | None) -> SearchBody:
    return SearchBody(
        mode=answer.mode,
        asked_mode=answer.asked_mode,
        notice=answer.notice,
        items=[_hit(one) for one in answer.hits],
        next_cursor=cursor,
        coverage=coverage_body(answer.coverage),
        took_ms=dict(answer.took_ms),
    )


def coverage_body(coverage: Coverage) -> CoverageBody:
    return CoverageBody(
        indexed=coverage.indexed,
        stale=coverage.stale,
        pending=coverage.pending,
        total=coverage.total,
        generation=coverage.generation,
        as_of=coverage.as_of,
    )


def _fields(article: Summary, standing: Standing, whole: bool) -> dict[str, Any]:
    return {
        "slug": article.slug,
        "title": article.title,
        "revision": article.revision,
        "author": article.owner,
        "visibility": article.visibility,
        "created_at": article.created_at,
        "updated_at": article.updated_at,
        "embedding": _embedding(standing, whole),
    }


def _embedding(standing: Standing, whole: bool) -> EmbeddingBody:
    """``whole`` false: a reader of a shared article sees whether it is found, not what its owner's tasks did."""
    return EmbeddingBody(
        chip=standing.chip,
        status=standing.status,
        task_id=standing.task_id if whole else None,
        attempts=standing.attempts,
        max_attempts=standing.max_attempts,
        error=standing.error if whole else None,
        category=standing.category if whole else None,
        indexed_revision=standing.indexed_revision,
        embedded_at=standing.embedded_at,
        next_run_at=standing.next_run_at,
    )


def _of_revision(revision: Revision, whole: bool) -> dict[str, Any]:
    return {
        "revision": revision.revision,
        "title": revision.title,
        "message": revision.message,
        "author": revision.author,
        "task_id": revision.task_id if whole else None,
        "created_at": revision.created_at,
    }


def _hit(hit: Hit) -> HitBody:
    article, passage = hit.article, hit.passage
    return HitBody(
        slug=article.slug,
        title=article.title,
        author=article.owner,
        visibility=article.visibility,
        updated_at=article.updated_at,
        chip=hit.standing.chip,
        stale=hit.stale,
        score=_score(hit.score),
        passage=PassageBody(
            text=passage.text,
            marks=[Mark.model_validate({"from": start, "to": end}) for start, end in passage.marks],
            starts=passage.starts,
            revision=passage.revision,
        ),
    )


def _score(score: Score) -> ScoreBody:
    semantic, keyword = None, None
    if score.semantic_rank is not None and score.similarity is not None:
        semantic = SemanticScore(rank=score.semantic_rank, similarity=score.similarity)
    if score.keyword_rank is not None and score.keyword is not None:
        keyword = KeywordScore(rank=score.keyword_rank, score=score.keyword)
    return ScoreBody(fused=score.fused, semantic=semantic, keyword=keyword)
