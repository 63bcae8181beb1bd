"""Bugs of website analysis: budgets, stored answers, approvals, kept pages, what counts as visible."""

from tests.mutants.catalogue import Mutant, in_area

_AREA = "sites"
_APP = "extensions/sites"
_TESTS = "tests/extensions/test_sites"

SITES: list[Mutant] = [
    *in_area(
        _AREA,
        f"{_APP}/sql/budgets.sql",
        f"{_TESTS}_models_budget.py",
        [
            (
                "reserve",
                "does not spend the last of a budget",
                "<= $5::float8::numeric",
                "< $5::float8::numeric",
                "test_a_reservation_may_take_the_last_of_a_budget_and_no_more",
            ),
            (
                "reserve",
                "compares costs as binary fractions",
                "(spent + $4::float8)::numeric <= $5::float8::numeric",
                "spent + $4::float8 <= $5::float8",
                "test_a_reservation_may_take_the_last_of_a_budget_and_no_more",
            ),
            (
                "take_over",
                "gives back what a zombie has reserved",
                "and lease < $2",
                "and lease > $2",
                "test_a_zombie_that_ends_its_call_after_all_changes_nothing",
            ),
            (
                "standing",
                "waits for the call of a dead process",
                "r.at > now() - $2::float8 * interval '1 second'",
                "$2::float8 is not null",
                "test_a_reservation_that_nobody_settles_counts_as_spent_in_the_end",
            ),
            (
                "open_budget",
                "keeps the smaller budget of an earlier run",
                "set most = excluded.most,",
                "set most = least(b.most, excluded.most),",
                "test_a_larger_budget_of_a_later_run_counts_what_was_spent",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/answers.sql",
        f"{_TESTS}_models_asking.py",
        [
            (
                "store",
                "overwrites the first answer",
                "where a.text is null and excluded",
                "where excluded",
                "test_the_first_answer_stays_and_a_problem_makes_room_for_a_text",
            ),
            (
                "reuse",
                "reuses answers of another model version",
                "and wanted.version = a.details ->> 'version'",
                "and wanted.version is not null",
                "test_answers_of_earlier_runs_are_used_again_where_the_version_is_the_same",
            ),
            (
                "reuse",
                "reuses the oldest answer",
                "a.run desc",
                "a.run",
                "test_of_the_answers_of_earlier_runs_the_newest_is_used_again",
            ),
            (
                "of_task",
                "shows the answers of the first run",
                "select max(run)",
                "select min(run)",
                "test_people_see_the_newest_run_that_has_answers",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/orders.sql",
        f"{_TESTS}_prompts_orders.py",
        [
            (
                "set_prompts",
                "keeps the approval of other prompts",
                "case when orders.prompts is not distinct from excluded.prompts then orders.approved_at end",
                "orders.approved_at",
                "test_an_approval_ends_when_the_prompts_change",
            ),
            (
                "approve",
                "lets a second approval replace the first",
                "where orders.approved_at is null",
                "",
                "test_the_first_approval_counts_and_tells_which_sites_it_freed",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/pages.sql",
        f"{_TESTS}_fetch_pages.py",
        [
            (
                "drop_behind",
                "drops the last page of an attempt",
                "number > $3",
                "number >= $3",
                "test_a_second_attempt_of_a_run_replaces_what_the_first_kept",
            ),
            (
                "sweep",
                "sweeps all pages at once",
                "limit $2",
                "limit greatest($2, 1000)",
                "test_old_pages_are_swept_in_batches_and_young_ones_stay",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/sites.sql",
        f"{_TESTS}_api.py",
        [
            (
                "analyses",
                "lists the last row of the page before again",
                "id < $2",
                "id <= $2",
                "test_pages_of_sites_and_analyses_go_on_where_they_ended",
            ),
            (
                "analyses",
                "lists the analyses of other users",
                "or owner = $1",
                "or $1 is not null",
                "test_pages_of_sites_and_analyses_go_on_where_they_ended",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/leftovers.sql",
        f"{_TESTS}_models_budget.py",
        [
            (
                "budgets",
                "removes the budget of a task without a job",
                "and not exists (select from penstock.task_states t where t.task_id = -b.job_id)",
                "",
                "test_the_budget_of_a_task_without_a_job_stays_as_long_as_the_task",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/scoring/visibility.py",
        f"{_TESTS}_scoring.py",
        [
            (
                None,
                "counts the offline model as visible",
                "is_seen = model != OFFLINE",
                "is_seen = True",
                "test_the_offline_model_counts_for_coverage_and_never_for_visibility",
            ),
            (
                None,
                "counts positions from 0",
                "1 + sum(one.start < own[0][0] for one in others)",
                "sum(one.start < own[0][0] for one in others)",
                "test_visibility_counts_samples_places_and_others",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/fetch/robots.py",
        f"{_TESTS}_fetch_pace.py",
        [
            (
                None,
                "takes the shorter of two crawl delays",
                "delay = max(delay, rate.seconds / rate.requests)",
                "delay = min(delay, rate.seconds / rate.requests)",
                "test_of_two_delays_that_a_site_asks_for_the_longer_counts",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/fetch/request.py",
        f"{_TESTS}_fetch_guard.py",
        [
            (
                None,
                "checks only the first address of a host",
                "for address in found:",
                "for address in found[:1]:",
                "test_one_private_address_among_several_refuses_the_name",
            ),
            (
                None,
                "allows every port of an allowed address",
                'return bool(listed & {host, place, f"{place}:{port}"})',
                'return any(one.partition(":")[0] == host for one in listed)',
                "test_another_port_or_name_of_an_allowed_host_is_refused",
            ),
        ],
    ),
]
