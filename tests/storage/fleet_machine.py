"""The whole fleet under Hypothesis: the workers, the people who cancel and reprocess, upkeep, and the promises."""

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from penstock.storage import lanes, outcomes, queue
from penstock.testing import statements as testing
from tests.storage import promises
from tests.storage.fleet_workers import ANY, LANES, MOST_TASKS, RESCUE, Workers


class Fleet(Workers):
    # ---------------------------------------------------------------- people and upkeep

    @precondition(lambda self: self.newest)
    @rule(number=ANY)
    def cancel(self, number: int) -> None:
        task = sorted(self.newest)[number % len(self.newest)]
        row = self.do(self.world.row(task))
        expected = (False, False) if row is None else (row["worker"] is None, row["worker"] is not None)
        assert self.do(queue.cancel(self.connection, task, "me")) == expected

    @rule(lane=st.sampled_from(LANES), number=ANY)
    def control_lane(self, lane: str, number: int) -> None:
        match number % 6:
            case 5:
                self.do(lanes.cancel(self.connection, self.world.pipeline, lane, "me"))
            case 1:
                self.do(lanes.pause(self.connection, self.world.pipeline, lane, by="me", reason=None))
            case _:
                self.do(lanes.resume(self.connection, self.world.pipeline, lane))

    @precondition(lambda self: self.newest)
    @rule(number=ANY, stage=st.sampled_from([None, "first"]))
    def reprocess(self, number: int, stage: str | None) -> None:
        task = sorted(self.newest)[number % len(self.newest)]
        finished = self.do(self.world.outcome(task)) is not None
        work = outcomes.reprocess(
            self.connection,
            [task],
            statuses=[2, 3, 4, 5, 6],
            from_stage=stage,
            by="me",
            reset_attempts=True,
        )
        assert self.do(work) == ([task] if finished else [])

    @rule()
    def sweep(self) -> None:
        """Nothing is taken from under a handler."""
        leased = "select count(*) from penstock.queue where worker is not null"
        before = self.do(self.connection.fetchval(leased))
        self.do(queue.sweep_cancelled(self.connection, 10))
        assert self.do(self.connection.fetchval(leased)) == before

    @rule(lane=st.sampled_from(LANES))
    def clean_up_then_enqueue(self, lane: str) -> None:
        self.do(lanes.activate_woken(self.connection))
        self.do(lanes.deactivate_idle(self.connection, batch=10, idle_seconds=-1))
        self.promises_hold()
        if self.unfinished() < MOST_TASKS:
            self.enqueue(lane, None, False)

    # ---------------------------------------------------------------- what has to hold

    @invariant()
    def promises_hold(self) -> None:
        assert self.do(promises.broken(self.connection)) == []

    def teardown(self) -> None:
        """Faults stop; without help from anybody, everything ends."""
        self.do(self._drain())
        self.promises_hold()

    async def _drain(self) -> None:
        await self.connection.execute("update penstock.workers set lease_until = now() - interval '1 second'")
        await RESCUE.run_once(self.connection)
        for lane in LANES:
            await lanes.resume(self.connection, self.world.pipeline, lane)
        worker = await self.world.worker()
        for _ in range(100):
            await self.connection.execute("update penstock.queue set run_at = now()")
            await queue.sweep_cancelled(self.connection, 100)
            claimed = await self._claim(worker, 50)
            await self.world.finish(worker, claimed)
            if not claimed and not await testing.depth(self.connection):
                return
        raise AssertionError(f"rows are left that nobody can finish: {await testing.depth(self.connection)}")
