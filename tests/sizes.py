"""How much a test does: a small amount in `make test`, the promised one in `make test-all`.

``PENSTOCK_TEST_STORM_TASKS=5000`` sets one of them by hand.
"""

import os

LONG = os.environ.get("PENSTOCK_TEST_LONG") == "1"


def size(name: str, *, small: int, whole: int) -> int:
    return int(os.environ.get(f"PENSTOCK_TEST_{name}", whole if LONG else small))
