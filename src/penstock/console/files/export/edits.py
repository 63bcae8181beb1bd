"""Rows that were edited stand in an export where they stood in the file, as their last copy."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from penstock.console.storage.exports import Page


class Edits:
    """Copies are stored behind all rows. A page is read in pieces around them, so that the pages without any, which are
    nearly all, are read by one statement as before."""

    def __init__(self, edited: Sequence[tuple[int, int]]) -> None:
        self._copy_of = dict(edited)
        self._copies = frozenset(self._copy_of.values())
        self._marks = sorted({*self._copy_of, *self._copies})

    def rows(self, page: Page) -> int:
        """How many rows of the file the page is: a copy is told with the page of its row."""
        return page.rows - sum(mark in self._copies for mark in self._within(page))

    def pieces(self, page: Page) -> list[Page]:
        """In the order of the file."""
        found, after = [], page.after
        for mark in self._within(page):
            if mark - 1 > after:
                found.append(replace(page, after=after, last_id=mark - 1))
            if mark not in self._copies:
                last = self._last(mark)
                found.append(replace(page, after=last - 1, last_id=last))
            after = mark
        if after < page.last_id:
            found.append(replace(page, after=after))
        return found

    def _within(self, page: Page) -> list[int]:
        return self._marks[bisect_right(self._marks, page.after) : bisect_right(self._marks, page.last_id)]

    def _last(self, task_id: int) -> int:
        while (copy := self._copy_of.get(task_id)) is not None:
            task_id = copy
        return task_id
