"""A name that nothing emits or hits is a promise nobody keeps."""

import ast
from pathlib import Path

from penstock import failpoints
from tools.docs import all_events

ROOT = Path(__file__).parents[2]


def first_arguments(method: str) -> set[str]:
    """The texts that are passed first to calls of ``something.method(...)`` anywhere in the source."""
    found = set()
    for path in (path for folder in ("src", "bench", "demo") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
                match node.args:
                    case [ast.Constant(value=str(text)), *_]:
                        found.add(text)
    return found


def test_every_event_is_emitted_somewhere_and_no_other():
    assert first_arguments("emit") == set(all_events())


def test_every_failpoint_is_hit_somewhere_and_no_other():
    assert first_arguments("hit") == set(failpoints.NAMES)
