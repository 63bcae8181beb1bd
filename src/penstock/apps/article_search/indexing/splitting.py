"""A batch that fails because of one text is cut in halves until that text is found; the rest goes on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from penstock.apps.article_search.chunking import Chunk
from penstock.apps.article_search.embedders.embedder import Vectors
from penstock.apps.article_search.indexing.storing import Wanted
from penstock.apps.article_search.trouble import EmbedderBusy, TextRefused

# So many articles failing alone: it is the provider, not the texts.
_ARTICLES_TO_BLAME_PROVIDER = 2


@dataclass(slots=True, kw_only=True)
class Draft:
    """An article on its way: ``known`` has the vectors that are there already, ``made`` those that came."""

    wanted: Wanted
    chunks: Sequence[Chunk]
    known: Sequence[Vectors | None]
    made: Vectors | None = None
    error: BaseException | None = None
    texts: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.texts = [chunk.text for chunk, vector in zip(self.chunks, self.known, strict=True) if vector is None]


Embed = Callable[[Sequence[str]], Awaitable[Vectors]]


@dataclass(slots=True)
class _Blame:
    """Single articles that the provider failed at, where the fault may be its own."""

    articles: int = 0


async def embed_drafts(drafts: Sequence[Draft], embed: Embed) -> None:
    """Each draft has its vectors afterwards, or the error that stands for it."""
    try:
        await _embed(drafts, embed, _Blame())
    except Exception as error:
        for draft in drafts:
            if draft.made is None and draft.error is None and draft.texts:
                draft.error = error


async def _embed(drafts: Sequence[Draft], embed: Embed, blame: _Blame) -> None:
    texts = [text for draft in drafts for text in draft.texts]
    if not texts:
        return
    try:
        vectors = await embed(texts)
    except (TextRefused, EmbedderBusy, ValueError) as error:
        await _narrow_down(drafts, embed, blame, error)
        return
    start = 0
    for draft in drafts:
        draft.made = vectors[start : start + len(draft.texts)]
        start += len(draft.texts)


async def _narrow_down(drafts: Sequence[Draft], embed: Embed, blame: _Blame, error: Exception) -> None:
    """Only an answer about these texts is worth smaller questions: a provider that is away would be asked for ever."""
    if isinstance(error, EmbedderBusy):
        if not error.reached:
            raise error
        blame.articles += len(drafts) == 1
        if blame.articles >= _ARTICLES_TO_BLAME_PROVIDER:
            raise error
    if len(drafts) == 1:
        drafts[0].error = error
        return
    middle = len(drafts) // 2
    await _embed(drafts[:middle], embed, blame)
    await _embed(drafts[middle:], embed, blame)
