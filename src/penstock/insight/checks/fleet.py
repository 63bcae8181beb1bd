"""Checks of Penstock's own tables: schema, indexes, workers, stages, schedules, upkeep."""

from collections.abc import Sequence

from penstock.insight.stage_views import OLD_SKEW_SECONDS, skew_sentence
from penstock.observe.finding import Check, Patient, Result, bad, fine, warn
from penstock.observe.wording import span, stage_label
from penstock.storage import migrate, reads, server_state, workers
from penstock.storage.migrate import Migration

_DUTY_LATE_SECONDS = 120.0
_START_WORKER = "Start one: `penstock worker --app module:name`."


async def schema(patient: Patient) -> Result:
    have = await migrate.applied(patient.connection)
    found, needed = (have[-1] if have else 0), migrate.newest()
    if not have:
        return bad("Penstock's schema is not installed in this database.", "`penstock migrate`")
    if found < needed:
        return bad(f"The schema is at version {found}, this Penstock needs {needed}.", "`penstock migrate`")
    if found > needed:
        return warn(
            f"The schema is at version {found}, newer than this Penstock knows ({needed}).",
            "It works; upgrade the package on this machine when you can.",
        )
    return fine(f"The schema is at version {found}, as it should be.")


async def schema_of_extension(steps: Sequence[Migration], patient: Patient) -> Result:
    missing = [step for step in await migrate.pending(patient.connection, steps) if step.extension]
    if missing:
        sentence = f"{len(missing)} of its {len(steps)} migrations are not applied, the first is {missing[0].label}."
        return bad(sentence, "`penstock migrate`, with the --app that your workers have")
    return fine(f"Its {len(steps)} migrations are applied.")


async def indexes(patient: Patient) -> Result:
    expected, found = server_state.expected_indexes(), await server_state.indexes(patient.connection)
    broken = [name for name, valid in found.items() if not valid]
    if broken:
        name = broken[0]
        again = expected.get(name, f"reindex index concurrently penstock.{name};")
        return bad(
            f"Index {name} is invalid and is not used{_more(broken)}.",
            f"drop index concurrently penstock.{name}; {again}" if name in expected else again,
        )
    missing = [name for name in expected if name not in found]
    if missing:
        return bad(f"Index {missing[0]} is missing{_more(missing)}.", expected[missing[0]])
    return fine(f"All {len(expected)} indexes are there and valid.")


async def live_workers(patient: Patient) -> Result:
    live = [one for one in await workers.listing(patient.connection) if one["live"]]
    silent = await server_state.silent_workers(patient.connection)
    if silent:
        one = silent[0]
        return warn(
            f"Worker {one['name']} (pid {one['pid']} on {one['host']}) is silent for {span(one['seconds'])}"
            f"{_more(silent)}; nobody has declared it dead.",
            _START_WORKER if not live else "The rescue does so within seconds; if not, see the duties.",
        )
    if not live:
        return warn("No worker is running.", _START_WORKER)
    return fine(f"{len(live)} {'worker is' if len(live) == 1 else 'workers are'} alive.")


async def leases(patient: Patient) -> Result:
    held = await server_state.leases_of_gone(patient.connection, patient.settings.lease_seconds)
    if not held:
        return fine("No dead worker holds a task.")
    one = held[0]
    return bad(
        f"Worker {one['name'] or one['worker']} is gone and still holds {one['held']:,} tasks{_more(held)}.",
        "Any live worker gives them back within seconds. " + _START_WORKER,
    )


async def unserved_stages(patient: Patient) -> Result:
    found = await reads.stages_without_worker(patient.connection)
    if not found:
        return fine("Every stage with waiting tasks has a live worker.")
    stage = stage_label(found[0]["pipeline"], found[0]["name"])
    return bad(f"Tasks wait in stage {stage}, and no live worker serves it{_more(found)}.", _START_WORKER)


async def version_skew(patient: Patient) -> Result:
    found = await reads.skewed(patient.connection, OLD_SKEW_SECONDS)
    if not found:
        return fine("No task waits for a worker of another release.")
    return warn(
        f"{skew_sentence(found[0])}{_more(found)}",
        f"Start a worker of the release that enqueued them; `penstock tasks why {found[0]['task_id']}` shows one.",
    )


async def schedules(patient: Patient) -> Result:
    found = await server_state.failing_schedules(patient.connection)
    if not found:
        return fine("No schedule reports an error.")
    one = found[0]
    cause = one["last_error"] or "it has no next time"
    if one["ended"]:
        return bad(
            f"Schedule {one['name']!r} has stopped{_more(found)}: {cause}", "Correct it; `penstock schedules list`."
        )
    return warn(f"Schedule {one['name']!r} failed at its last time{_more(found)}: {cause}", "`penstock schedules list`")


async def upkeep(patient: Patient) -> Result:
    late = await server_state.overdue_duties(patient.connection, _DUTY_LATE_SECONDS)
    if not late:
        return fine("All upkeep duties run on time.")
    one = late[0]
    return warn(
        f"Duty {one['name']!r} is overdue by {span(one['seconds'])}{_more(late)}.",
        "Workers do the upkeep. " + _START_WORKER,
    )


def _more(found: Sequence[object]) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""


CHECKS = (
    Check(name="schema", look=schema, bare=True),
    Check(name="indexes", look=indexes),
    Check(name="workers", look=live_workers),
    Check(name="leases", look=leases),
    Check(name="stages", look=unserved_stages),
    Check(name="version skew", look=version_skew),
    Check(name="schedules", look=schedules),
    Check(name="upkeep", look=upkeep),
)
