"""Vectors of one generation in memory: blocks of rows that grow, and forget articles without moving the others."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from penstock.extensions.articles.embedders.embedder import Vectors
from penstock.extensions.articles.near.filter import DECIMALS, Passage

# 4 MB of 256 numbers each: growing copies nothing, and little is taken in vain.
_BLOCK = 4096
# Rows that are multiplied at one time. From some 37,000 numbers on the library shares them among threads that wait for
# each other, which takes twenty times as long where the cores are busy: 200 ms instead of 10 for 100,000 rows of 256.
_SLAB = 8
# Threads that help one search with its blocks, and from how many blocks on that is worth their start.
_HELPERS, _SHARED_FROM = min(os.cpu_count() or 1, 4) - 1, 4
# Sums of single precision may be off by so much; what is this close to the last place is added up again.
_SLACK = 1e-5
_NOWHERE = -1
# Of one row beside its vector: five columns, and its part of what knows the rows of an article.
_BESIDE_BYTES = 160
# Articles whose rows are looked up one by one; more are marked among all.
_FEW = 500

Places = npt.NDArray[np.int64]
_Number = TypeVar("_Number", np.float32, np.int64)


def size_bytes(rows: int, dimensions: int) -> int:
    """What so many rows take, roughly."""
    return rows * (dimensions * 4 + _BESIDE_BYTES)


class Rows:
    """Many threads may look while nobody changes it: whoever keeps it sees to that."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._vectors: list[Vectors] = []
        # article, ordinal, revision, starts, ends
        self._places: list[Places] = []
        self._of_article: dict[int, list[int]] = {}
        self._free: list[int] = []
        self._helpers = ThreadPoolExecutor(max_workers=max(_HELPERS, 1), thread_name_prefix="penstock-compare")

    def __len__(self) -> int:
        return len(self._vectors) * _BLOCK - len(self._free)

    @property
    def size_bytes(self) -> int:
        return size_bytes(len(self._vectors) * _BLOCK, self._dimensions)

    def put(self, article_id: int, places: Sequence[tuple[int, int, int, int, int]], vectors: Vectors) -> None:
        """Instead of what was there of the article. ``places``: article, ordinal, revision, starts, ends."""
        self.drop(article_id)
        taken = [self._take() for _ in places]
        for row, place, vector in zip(taken, places, vectors, strict=True):
            block, line = divmod(row, _BLOCK)
            self._vectors[block][line] = vector
            self._places[block][line] = place
        if taken:
            self._of_article[article_id] = taken

    def drop(self, article_id: int) -> None:
        for row in self._of_article.pop(article_id, ()):
            block, line = divmod(row, _BLOCK)
            self._places[block][line, 0] = _NOWHERE
            self._free.append(row)

    def nearest(self, vector: Vectors, count: int, only: Sequence[int] | None = None) -> tuple[list[Passage], bool]:
        """The best passage of each article that has one among the nearest ``count`` and those as near as the last;
        the nearest article first, of equals the older one. ``only``: of these articles. True: there are no more."""
        if only is not None and len(only) <= _FEW:
            rows = np.array([row for one in only for row in self._of_article.get(one, ())], dtype=np.int64)
            return self._best(np.sort(rows), vector), True
        near = self._compared(vector, only)
        there = int(np.count_nonzero(near > -np.inf))
        if count >= there:
            return self._best(np.flatnonzero(near > -np.inf), vector), True
        least = np.partition(near, -count)[-count] - _SLACK
        return self._best(np.flatnonzero(near >= least), vector), False

    def _compared(self, vector: Vectors, only: Iterable[int] | None) -> Vectors:
        """By row; minus infinity where there is none that counts."""
        near = np.empty(len(self._vectors) * _BLOCK, dtype=np.float32)
        wanted = None if only is None else np.fromiter(only, dtype=np.int64)
        todo = iter(range(len(self._vectors)))

        def work() -> None:
            for block in todo:  # whoever is free takes the next one, so a helper that is late holds nobody up
                self._compare(block, vector, wanted, near[block * _BLOCK : (block + 1) * _BLOCK])

        helpers = [self._helpers.submit(work) for _ in range(_HELPERS if len(self._vectors) >= _SHARED_FROM else 0)]
        work()
        for helper in helpers:
            if not helper.cancel():
                helper.result()
        return near

    def _compare(self, block: int, vector: Vectors, wanted: Places | None, near: Vectors) -> None:
        slabs = self._vectors[block].reshape(-1, _SLAB, self._dimensions)
        np.matmul(slabs, vector, out=near.reshape(-1, _SLAB))
        owners = self._places[block][:, 0]
        near[owners == _NOWHERE if wanted is None else ~np.isin(owners, wanted)] = -np.inf

    def _best(self, rows: Places, vector: Vectors) -> list[Passage]:
        """Each is added up by itself in double precision, so that equal vectors are equally near wherever they are."""
        if not len(rows):
            return []
        vectors, places = _picked(self._vectors, rows), _picked(self._places, rows)
        similarity = np.round((vectors.astype(np.float64) * vector.astype(np.float64)).sum(axis=1), DECIMALS)
        order = np.lexsort((places[:, 1], places[:, 0], -similarity))
        _, first = np.unique(places[order, 0], return_index=True)
        best = order[np.sort(first)]
        return [
            Passage(
                article_id=article_id, ordinal=ordinal, revision=revision, starts=starts, ends=ends, similarity=near
            )
            for (article_id, ordinal, revision, starts, ends), near in zip(
                places[best].tolist(), similarity[best].tolist(), strict=True
            )
        ]

    def _take(self) -> int:
        if not self._free:
            first = len(self._vectors) * _BLOCK
            self._vectors.append(np.zeros((_BLOCK, self._dimensions), dtype=np.float32))
            self._places.append(np.full((_BLOCK, 5), _NOWHERE, dtype=np.int64))
            self._free = list(range(first + _BLOCK - 1, first - 1, -1))
        return self._free.pop()


def _picked(blocks: Sequence[npt.NDArray[_Number]], rows: Places) -> npt.NDArray[_Number]:
    """``rows`` ascending."""
    picked = np.empty((len(rows), blocks[0].shape[1]), dtype=blocks[0].dtype)
    edges = np.searchsorted(rows, np.arange(len(blocks) + 1) * _BLOCK).tolist()
    for number, (block, start, end) in enumerate(zip(blocks, edges, edges[1:], strict=False)):
        if start < end:
            np.take(block, rows[start:end] - number * _BLOCK, axis=0, out=picked[start:end])
    return picked
