"""``limits`` on real PostgreSQL: exact under concurrency, by the database's clock, read after the lock."""

import asyncio
from datetime import datetime, timedelta

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidSetting
from penstock.storage import limits
from penstock.storage.queries import load
from tests.unit.gcra import SECOND, Gcra, most_above_the_limit

KEY = "wikidata"
EPOCH = datetime.fromisoformat("2020-01-01T00:00:00+00:00")
# The sum of two rounded floats, in permits.
NOTHING = 1e-3


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def grants_of(grant: limits.Grant, weights=None) -> list[tuple[float, int]]:
    assert grant.at is not None
    weights = weights or [1] * grant.granted
    return [(micros(grant.at) + round(d * SECOND), w) for d, w in zip(grant.delays_seconds, weights, strict=False)]


async def let_pass(connection, seconds: float) -> None:
    """Time passes for the row: what it remembers moves into the past."""
    await connection.execute(
        "update penstock.limits set tat = tat - $1 * interval '1 second', "
        "blocked_until = blocked_until - $1 * interval '1 second'",
        seconds,
    )


async def test_a_full_budget_gives_its_burst_and_says_when_the_next_is_free(connection):
    await limits.configure(connection, KEY, rate=0.005, burst=3)
    grant = await limits.take(connection, KEY, [1] * 5)
    assert (grant.granted, grant.delays_seconds) == (3, (0, 0, 0))
    assert grant.wait_seconds == pytest.approx(200)
    again = await limits.take(connection, KEY, [1])
    assert again.granted == 0
    assert 100 < again.wait_seconds <= 200
    await let_pass(connection, 200)
    assert (await limits.take(connection, KEY, [1, 1])).granted == 1


async def test_permits_reserved_ahead_carry_their_own_moment(connection):
    await limits.configure(connection, KEY, rate=10, burst=1)
    grant = await limits.take(connection, KEY, [1] * 9, ahead_seconds=0.25)
    assert grant.delays_seconds == pytest.approx((0, 0.1, 0.2))
    assert grant.wait_seconds == pytest.approx(0.3)


@pytest.mark.parametrize("ahead_seconds", [0.0, 300.0])
async def test_a_heavy_request_is_not_refused_for_what_small_ones_reserved(connection, ahead_seconds):
    await limits.configure(connection, KEY, rate=0.01, burst=5)
    small = await limits.take(connection, KEY, [1] * 20, ahead_seconds=ahead_seconds)
    assert small.granted < 20, "they reserved all they could"
    grant = await limits.take(connection, KEY, [5], ahead_seconds=ahead_seconds, heavy_ahead_seconds=2000.0)
    assert grant.granted == 1
    assert grant.delays_seconds[0] == pytest.approx(ahead_seconds + 500, abs=100)


async def test_a_heavy_request_reserves_no_further_ahead_than_it_may(connection):
    await limits.configure(connection, KEY, rate=0.01, burst=5)
    await limits.take(connection, KEY, [1] * 5)
    grant = await limits.take(connection, KEY, [5], heavy_ahead_seconds=200.0)
    assert (grant.granted, grant.wait_seconds) == (0, pytest.approx(500, abs=50))


async def test_a_weight_above_the_burst_is_never_granted_and_holds_up_those_behind(connection):
    await limits.configure(connection, KEY, rate=1, burst=2)
    grant = await limits.take(connection, KEY, [1, 3, 1])
    assert (grant.granted, grant.burst) == (1, 2)


async def test_an_unknown_key_is_not_limited_and_leaves_no_row(connection):
    grant = await limits.take(connection, KEY, [1, 5, 1])
    assert (grant.granted, grant.wait_seconds, grant.rate) == (3, None, None)
    assert await limits.listing(connection) == []


async def test_an_unknown_key_can_be_blocked(connection):
    block = await limits.penalise(connection, KEY, 5000, "429")
    assert block.seconds_left == pytest.approx(5000, abs=90)
    assert block.seconds_added == pytest.approx(5000, abs=90)
    grant = await limits.take(connection, KEY, [1])
    assert grant.granted == 0
    assert 4900 < grant.wait_seconds <= 5000
    (shown,) = await limits.listing(connection)
    assert (shown.key, shown.rate, shown.blocked_reason) == (KEY, None, "429")
    await let_pass(connection, 5000)
    assert (await limits.take(connection, KEY, [1])).granted == 1


async def test_a_limit_set_during_a_block_does_not_end_it(connection):
    await limits.penalise(connection, KEY, 5000, "429")
    await limits.configure(connection, KEY, rate=1, burst=10)
    grant = await limits.take(connection, KEY, [1])
    assert grant.granted == 0
    assert 4900 < grant.wait_seconds <= 5000


async def test_the_longer_block_stays_and_keeps_its_reason(connection):
    await limits.configure(connection, KEY, rate=100, burst=10)
    await limits.penalise(connection, KEY, 6000, "long")
    block = await limits.penalise(connection, KEY, 1, "short")
    assert block.seconds_left > 5900
    assert block.seconds_added == pytest.approx(0, abs=1e-3)
    assert (await limits.listing(connection))[0].blocked_reason == "long"


async def test_after_a_block_there_is_one_permit_and_then_the_rate(connection):
    await limits.configure(connection, KEY, rate=0.01, burst=10)
    await limits.penalise(connection, KEY, 6000, "429")
    assert (await limits.take(connection, KEY, [1])).granted == 0
    await let_pass(connection, 6000)
    assert (await limits.take(connection, KEY, [1] * 10)).granted == 1
    await let_pass(connection, 300)
    assert (await limits.take(connection, KEY, [1] * 10)).granted == 3


async def test_a_block_counts_from_the_answer_and_not_from_the_start_of_a_transaction(connection):
    async with connection.transaction():
        asked_at = await connection.fetchval("select clock_timestamp()")
        await limits.penalise(connection, KEY, 1, None)
        ends_at = await connection.fetchval("select blocked_until from penstock.limits")
    assert ends_at >= asked_at + timedelta(seconds=1)


async def test_permits_are_timed_after_the_wait_for_the_row_even_if_its_holder_changed_nothing(
    connection, database_url
):
    """The reason for the locking CTE: an UPDATE would go on with the clock it read before it waited."""
    await limits.configure(connection, KEY, rate=1, burst=5)
    other = await asyncpg.connect(database_url)
    holder = other.transaction()
    await holder.start()
    await other.execute("select from penstock.limits for update")
    taking = asyncio.create_task(limits.take(connection, KEY, [1]))
    await asyncio.wait_for(waits_for_a_lock(other), 60)
    released_at = await other.fetchval("select clock_timestamp()")
    await holder.rollback()
    grant = await asyncio.wait_for(taking, 60)
    await other.close()
    assert grant.granted == 1
    assert grant.at >= released_at


async def test_a_limit_replaced_while_we_wait_for_its_row_is_not_taken_for_none(connection, database_url):
    await limits.configure(connection, KEY, rate=1, burst=1)
    other = await asyncpg.connect(database_url)
    async with other.transaction():
        await other.execute("delete from penstock.limits where key = $1", KEY)
        await limits.configure(other, KEY, rate=1, burst=1)
        taking = asyncio.create_task(limits.take(connection, KEY, [1] * 9))
        await asyncio.wait_for(waits_for_a_lock(other), 60)
    grant = await asyncio.wait_for(taking, 60)
    await other.close()
    assert (grant.granted, grant.wait_seconds) == (0, 0), "ask again"


async def waits_for_a_lock(connection) -> None:
    while not await connection.fetchval(
        "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')"
    ):
        await asyncio.sleep(0.01)


async def test_permits_are_timed_by_the_clock_and_not_by_the_transaction(connection):
    await limits.configure(connection, KEY, rate=1000, burst=1)
    async with connection.transaction(), asyncio.timeout(60):
        for _ in range(3):
            while not (await limits.take(connection, KEY, [1])).granted:
                pass


@pytest.mark.parametrize(("rate", "burst", "ahead"), [(150.0, 1, 0.05), (300.0, 7, 0.0), (77.7, 3, 0.02)])
async def test_many_connections_that_hammer_one_key_stay_within_the_limit_in_every_window(
    connection, database_url, rate, burst, ahead
):
    await limits.configure(connection, KEY, rate, burst)
    permits = 0

    async def hammer(number: int) -> list[tuple[list[int], limits.Grant]]:
        nonlocal permits
        taken: list[tuple[list[int], limits.Grant]] = []
        mine = await asyncpg.connect(database_url)
        while permits < 1.5 * rate:
            weights = [1 + (number + len(taken)) % burst, 1]
            grant = await limits.take(mine, KEY, weights, ahead_seconds=ahead)
            permits += sum(weights[: grant.granted])
            taken.append((weights, grant))
        await mine.close()
        return taken

    async with asyncio.timeout(60):
        taken = [one for many in await asyncio.gather(*map(hammer, range(6))) for one in many]
    grants = [one for weights, grant in taken for one in grants_of(grant, weights)]
    assert most_above_the_limit(grants, rate, burst) <= NOTHING
    # The limit has to be used as well: nobody was refused, or told to wait, for more than the model says.
    model = Gcra(rate, burst)
    for weights, grant in sorted(taken, key=lambda one: micros(one[1].at)):
        ready, wait = model.take(micros(grant.at), weights, round(ahead * SECOND))
        assert [round(delay * SECOND) for delay in grant.delays_seconds] == ready
        assert wait is None or round(grant.wait_seconds * SECOND) == wait


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.lists(st.integers(1, 5), min_size=1, max_size=6)),
        st.tuples(st.just("pass"), st.integers(0, 2 * SECOND)),
        st.tuples(st.just("block"), st.integers(0, SECOND)),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rate=st.sampled_from([0.7, 3, 40.0, 1000]),
    burst=st.integers(1, 5),
    ahead=st.integers(0, SECOND),
    steps=STEPS,
)
def test_the_statement_agrees_with_the_model_to_the_microsecond(follow_model, rate, burst, ahead, steps):
    follow_model(rate, burst, ahead, steps)


@pytest.fixture
def follow_model(database_url):
    """Runs outside the test's event loop, since Hypothesis calls it again and again."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(database_url))
        yield lambda *args: runner.run(_follow(connection, *args))
        runner.run(connection.close())


async def _follow(connection, rate, burst, ahead, steps) -> None:
    await limits.remove(connection, KEY)
    await limits.configure(connection, KEY, rate, burst)
    model, shifted = Gcra(rate, burst), 0
    for kind, what in steps:
        if kind == "pass":
            shifted += what
            await let_pass(connection, what / SECOND)
        elif kind == "block":
            await limits.penalise(connection, KEY, what / SECOND, None)
            blocked = await connection.fetchval("select blocked_until from penstock.limits")
            model.penalise(0, micros(blocked) + shifted)
        else:
            grant = await limits.take(connection, KEY, what, ahead_seconds=ahead / SECOND)
            assert grant.at is not None
            ready, wait = model.take(micros(grant.at) + shifted, what, ahead)
            assert [round(delay * SECOND) for delay in grant.delays_seconds] == ready
            assert wait is None or grant.wait_seconds is not None
            if wait is not None:
                assert round(grant.wait_seconds * SECOND) == wait
    assert most_above_the_limit(model.grants, rate, burst) <= NOTHING


async def test_configuring_the_same_again_forgets_nothing(connection):
    await limits.configure(connection, KEY, rate=0.001, burst=1)
    await limits.take(connection, KEY, [1] * 3, ahead_seconds=2500)
    await limits.configure(connection, KEY, rate=0.001, burst=1)
    assert (await limits.take(connection, KEY, [1])).wait_seconds == pytest.approx(3000, abs=100)


async def test_a_faster_rate_takes_effect_at_once(connection):
    await limits.configure(connection, KEY, rate=1 / 3600, burst=1)
    await limits.take(connection, KEY, [1])
    await limits.configure(connection, KEY, rate=100, burst=1)
    grant = await limits.take(connection, KEY, [1], ahead_seconds=0.02)
    assert grant.granted == 1


async def test_a_slower_rate_does_not_forgive_what_was_taken(connection):
    await limits.configure(connection, KEY, rate=0.01, burst=100)
    await limits.take(connection, KEY, [60])
    await limits.configure(connection, KEY, rate=0.001, burst=100)
    (shown,) = await limits.listing(connection)
    assert shown.available == 40


async def test_a_limit_can_be_removed_once(connection):
    await limits.configure(connection, KEY, rate=1)
    assert await limits.remove(connection, KEY)
    assert not await limits.remove(connection, KEY)
    assert (await limits.take(connection, KEY, [1] * 9)).granted == 9


async def test_a_removed_key_is_not_shown_can_be_limited_again_and_is_forgotten_after_a_while(connection):
    await limits.configure(connection, KEY, rate=1, burst=3)
    await limits.penalise(connection, KEY, 600, "429")
    [before] = await limits.known(connection, [KEY])
    await limits.remove(connection, KEY)
    [removed] = await limits.known(connection, [KEY])
    assert (removed.rate, removed.blocked_seconds) == (None, 0)
    assert removed.since > max(before.since, before.version)
    assert await limits.listing(connection) == []
    assert await limits.forget_passed_blocks(connection, older_than_seconds=60) == 0
    await limits.configure(connection, KEY, rate=1, burst=3)
    assert (await limits.take(connection, KEY, [1] * 9)).granted == 3
    await limits.remove(connection, KEY)
    await connection.execute("update penstock.limits set updated_at = updated_at - interval '2 minutes'")
    assert await limits.forget_passed_blocks(connection, older_than_seconds=60) == 1


async def test_only_passed_blocks_of_keys_without_a_limit_are_forgotten(connection):
    await limits.configure(connection, "limited", rate=1)
    await limits.penalise(connection, "limited", 1, None)
    await limits.penalise(connection, "passed", 1, None)
    await let_pass(connection, 100)
    await limits.penalise(connection, "standing", 1, None)
    assert await limits.forget_passed_blocks(connection, older_than_seconds=60) == 1
    assert [one.key for one in await limits.listing(connection)] == ["limited", "standing"]


async def test_a_take_among_many_keys_reads_and_locks_one_row_by_its_key(connection):
    await connection.execute(
        "insert into penstock.limits (key, rate) select 'host ' || n, 1 from generate_series(1, 20000) as n"
    )
    await connection.execute("analyze penstock.limits")
    plan = await connection.fetch(f"explain (costs off) {load('limits').take}", "host 7", [1, 1], 0.0, 0.0)
    scans = [row[0].strip() for row in plan if " on limits" in row[0]]
    assert len(scans) == 4, "the lock, the update with its scan, and the look for a free key"
    assert [line for line in scans if "Seq Scan" in line] == []


@pytest.mark.parametrize(
    ("key", "rate", "burst", "sentence"),
    [
        ("", 1, 1, "limiter key = '' will not do"),
        ("  ", 1, 1, "limiter key = '  ' will not do"),
        ("a\0b", 1, 1, "none of them NUL"),
        ("k" * 501, 1, 1, "at most 500 characters"),
        (KEY, 0, 1, "rate of limit 'wikidata' = 0 will not do"),
        (KEY, -2.5, 1, "rate of limit 'wikidata' = -2.5 will not do"),
        (KEY, float("nan"), 1, "permits per second above 0"),
        (KEY, float("inf"), 1, "permits per second above 0"),
        (KEY, 1e-9, 1, "permits per second"),
        (KEY, 1, 0, "burst of limit 'wikidata' = 0 will not do"),
        (KEY, 1, 1.5, "burst of limit 'wikidata' = 1.5 will not do"),
    ],
)
async def test_a_wrong_limit_is_refused_with_its_value(connection, key, rate, burst, sentence):
    with pytest.raises(InvalidSetting, match=sentence.replace("(", "\\(")):
        await limits.configure(connection, key, rate, burst)
