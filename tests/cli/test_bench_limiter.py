"""`penstock bench limiter`, tiny; and its marks, which have to see what is wrong."""

import io
from typing import Any

import orjson
import pytest

from penstock.terminal.options import Format, Options
from penstock.terminal.output import Output
from penstock.terminal.session import Session
from penstock_bench import limiter
from penstock_bench.limiter_marks import after_refusal, use, windows_over_limit


def test_a_window_with_one_call_too_many_is_seen():
    steady = [number / 10 for number in range(30)]
    assert windows_over_limit(steady, rate=10, burst=1) == 0
    assert windows_over_limit([*steady, 1.01, 1.02], rate=10, burst=1) > 0


def test_use_is_of_what_the_rate_allows():
    assert use([number / 10 for number in range(100)], rate=10, seconds=5) == pytest.approx(1.0)
    assert use([number / 5 for number in range(100)], rate=10, seconds=5) == pytest.approx(0.5)
    assert use([], rate=10, seconds=5) == 0


def test_a_call_before_the_time_is_early_unless_it_was_on_its_way():
    marks = after_refusal([1.0, 2.01, 3.0, 5.2], refused_at=2.0, retry_after_seconds=3)
    assert marks == {"early_calls": 1, "in_flight_calls": 1, "resumed_after_ms": pytest.approx(200)}


@pytest.mark.timeout(300)  # it starts eight processes
async def test_the_limiter_bench_measures_both_stores(server_url: str) -> None:
    session = Session(Options(output=Format.json, database_url=server_url, quiet=True))
    session.out = Output(json=True, quiet=True, stdout=io.StringIO(), stderr=io.StringIO())
    sizes = limiter.Sizes(
        processes=2, demand=40, seconds=1.0, retry_after_seconds=1, afterwards_seconds=0.5, uneven_seconds=1.0
    )
    await limiter.limiter(session, sizes)
    assert isinstance(session.out.stdout, io.StringIO)
    figures: dict[str, Any] = orjson.loads(session.out.stdout.getvalue())
    assert (figures["store"], figures["redis"]["store"]) == ("postgres", "redis")
    for one in (figures, figures["redis"]):
        assert one["calls"] > 0
        assert {"windows_over_limit", "use", "early_calls", "far_share", "uneven_use"} <= one.keys()
