"""How functions on an application become methods of an object that has one."""

from collections.abc import Callable, Coroutine
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from penstock.core.app import App

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Connection = Any


class Noun:
    """Functions about one kind of object, with the application filled in."""

    __slots__ = ("app",)

    def __init__(self, app: App) -> None:
        self.app = app


class OfApp(Generic[Given, Answer]):
    """``pause = OfApp(jobs.pause)`` in a ``Noun`` is a method: a function whose first argument is the application."""

    def __init__(self, function: Callable[Concatenate[App, Given], Answer]) -> None:
        self.function = function

    def __get__(self, noun: Noun, kind: type[Noun]) -> Callable[Given, Answer]:
        return update_wrapper(partial(self.function, noun.app), self.function)


class OfDatabase(Generic[Given, Answer]):
    """The same for a function whose first argument is a connection: one of the application's pool, for this call."""

    def __init__(self, function: Callable[Concatenate[Connection, Given], Coroutine[Any, Any, Answer]]) -> None:
        self.function = function

    def __get__(self, noun: Noun, kind: type[Noun]) -> Callable[Given, Coroutine[Any, Any, Answer]]:
        async def ask(*args: Given.args, **options: Given.kwargs) -> Answer:
            async with noun.app.connection() as connection:
                return await self.function(connection, *args, **options)

        return update_wrapper(ask, self.function)
