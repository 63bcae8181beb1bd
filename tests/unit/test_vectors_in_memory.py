"""Vectors in memory: many blocks are compared by several threads, and the answer is exact."""

import numpy as np

from penstock.extensions.articles.near.rows import Rows

DIMENSIONS = 64
MANY = 30_000


def _vectors(seed: int, count: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSIONS)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _filled(vectors: np.ndarray) -> Rows:
    rows = Rows(DIMENSIONS)
    for number, vector in enumerate(vectors):
        rows.put(number, [(number, 0, 1, 0, 10)], vector[None])
    return rows


def _found(rows: Rows, question: np.ndarray, only: list[int] | None = None) -> list[int]:
    near, _ = rows.nearest(question, 40, only)
    return [one.article_id for one in near][:40]


def _true(vectors: np.ndarray, question: np.ndarray) -> list[int]:
    return np.argsort(-(vectors @ question), kind="stable")[:40].tolist()


def test_every_block_is_compared_whoever_takes_it():
    vectors = _vectors(1, MANY)
    rows = _filled(vectors)
    for question in _vectors(2, 60):
        assert _found(rows, question) == _true(vectors, question)


def test_what_changes_in_a_block_is_found_as_it_is_now():
    vectors, (first, second, third) = _vectors(3, MANY), _vectors(4, 3)
    rows = _filled(vectors)
    rows.put(MANY - 5, [(MANY - 5, 0, 2, 0, 10)], first[None])
    rows.put(MANY + 9, [(MANY + 9, 0, 1, 0, 10)], second[None])
    rows.put(MANY + 10, [(MANY + 10, 0, 1, 0, 10)], third[None])
    rows.drop(MANY + 10)
    assert _found(rows, first)[0] == MANY - 5
    assert _found(rows, second)[0] == MANY + 9
    assert MANY + 10 not in _found(rows, third)


def test_only_what_is_asked_for_is_compared_be_it_little_or_much():
    vectors, (question,) = _vectors(5, MANY), _vectors(6, 1)
    rows = _filled(vectors)
    for step in (100, 3):  # fewer and more than are looked up one by one
        only = list(range(MANY - 1, -1, -step))
        kept = [one for one in np.argsort(-(vectors @ question), kind="stable").tolist() if one in set(only)][:40]
        assert _found(rows, question, only) == kept


def test_equal_vectors_of_different_blocks_come_oldest_first():
    vectors = _vectors(7, MANY)
    same = [100, 9_000, 17_000, 29_999]
    vectors[same] = vectors[100]
    near, _ = _filled(vectors).nearest(vectors[100], 4)
    assert [one.article_id for one in near] == same
    assert len({one.similarity for one in near}) == 1
