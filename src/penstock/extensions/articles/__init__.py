"""Article search: articles are saved at once, embeddings follow in the background, search works on what is there.

    from penstock import Penstock
    from penstock.extensions import articles

    app = Penstock("handbook")
    app.install(articles.extension)

``docs/article-search.md`` is the page for people.
"""

from typing import TYPE_CHECKING

from penstock.extension import Extension

if TYPE_CHECKING:
    from penstock import Penstock
    from penstock.extensions.articles.shared import ArticleSearch

__all__ = ["extension", "install"]

_EVENTS = {
    "articles.saved": ("info", "an article was created or changed, with its embedding tasks"),
    "articles.deleted": ("info", "an article was deleted"),
    "articles.imported": ("info", "articles of a file or folder were stored"),
    "articles.embedded": ("info", "an article was embedded, or found unchanged"),
    "articles.skipped": ("info", "an embedding was not needed any more"),
    "articles.failed": ("warning", "an embedding failed, with its category; the article is untouched"),
    "articles.reindexed": ("info", "somebody had articles embedded again"),
    "articles.generation": ("info", "a generation of the index was built, made ready, switched to or dropped"),
    "articles.retried": ("info", "somebody had failed embeddings tried again"),
    "articles.cleared": ("info", "completed embeddings were cleared"),
    "articles.alert": ("warning", "embedding is in trouble, or well again"),
}
_TOUCHING = _EVENTS.keys() - {"articles.retried", "articles.cleared"}

extension = Extension(
    name="articles",
    install="penstock.extensions.articles.installing:install",
    # As databases of every release have it.
    owner="penstock.apps",
    migrations="penstock.extensions.articles",
    formerly={1: 6},
    settings="penstock.extensions.articles.settings:ArticleSettings",
    events=_EVENTS,
    touches=dict.fromkeys(("query", *_TOUCHING), "article"),
    router="penstock.extensions.articles.api:router",
    commands={
        "articles": (
            "Write, import and find articles, and look after their index.",
            "penstock.extensions.articles.commands",
        )
    },
    screens={"/articles": "Articles", "/search": "Search", "/index": "Index"},
    extra="articles",
)


def install(app: "Penstock", shared: "ArticleSearch | None" = None) -> "ArticleSearch":
    """Needs no database; close what it returns where the process goes on without the app."""
    search: ArticleSearch = app.install(extension, shared=shared)
    return search
