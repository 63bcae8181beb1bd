"""How long an idle worker waits before it looks again. Pure apart from the chance that is passed in."""


def pause_seconds(*, empty_claims: int, least: float, most: float, chance: float) -> float:
    """Doubles with every empty claim up to ``most``; jitter keeps a fleet from polling in step."""
    grown: float = min(least * 2 ** min(max(empty_claims - 1, 0), 30), most)
    return grown * (0.75 + 0.5 * chance)
