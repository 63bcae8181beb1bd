"""Texts as a provider takes them: prefixed, without empty ones, in requests that are not too large. Pure."""

from collections.abc import Iterator, Sequence

from penstock.apps.article_search.embedders.embedder import Purpose
from penstock.apps.article_search.embedders.options import Options

# Place of a text in the list that was asked for, and what is sent for it.
Batch = list[tuple[int, str]]


def batches(texts: Sequence[str], options: Options, purpose: Purpose) -> Iterator[Batch]:
    """Empty texts are in none of them: endpoints refuse them, and their vector is zero."""
    prefix = options.query_prefix if purpose == "query" else options.document_prefix
    batch: Batch = []
    characters = 0
    for place, text in enumerate(texts):
        if not text.strip():
            continue
        # Half a pair of surrogates is no UTF-8, and no JSON.
        sent = (prefix + text)[: options.most_characters].encode("utf-8", "replace").decode()
        if batch and (len(batch) >= options.most_texts or characters + len(sent) > options.most_characters):
            yield batch
            batch, characters = [], 0
        batch.append((place, sent))
        characters += len(sent)
    if batch:
        yield batch
