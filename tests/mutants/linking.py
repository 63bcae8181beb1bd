"""Bugs of record linking: decisions overruled, runs that write too late, answers under other types, pages."""

from tests.mutants.catalogue import Mutant, in_area

_AREA = "linking"
_APP = "extensions/linking"
_TESTS = "tests/extensions/test_linking"

LINKING: list[Mutant] = [
    *in_area(
        _AREA,
        f"{_APP}/api_ground.py",
        f"{_TESTS}_api.py",
        [
            (
                None,
                "shows the project of another user",
                "if found is None or not (actor.is_admin or found.owner == actor.name):",
                "if found is None:",
                "test_others_projects_are_not_there_and_admins_looks_are_noted",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/projects.sql",
        f"{_TESTS}_api.py",
        [
            (
                "page",
                "lists the last row of the page before again",
                "(updated_at, id) < ($2, $3::bigint)",
                "(updated_at, id) <= ($2, $3::bigint)",
                "test_lists_go_on_where_the_page_before_ended",
            ),
            (
                "page",
                "lists the projects of other users",
                "or owner = $1",
                "or $1 is not null",
                "test_others_projects_are_not_there_and_admins_looks_are_noted",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/projects.sql",
        f"{_TESTS}_races.py",
        [
            (
                "cancel_run",
                "leaves the run that it cancels current",
                "set run = run + 1, ended_at = now()",
                "set ended_at = now()",
                "test_a_run_that_is_cancelled_while_it_ranks_writes_nothing_more",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/projects.sql",
        f"{_TESTS}_sharing.py",
        [
            (
                "fetching_of_source",
                "gives batches to a paused job",
                "and j.paused_at is null and",
                "and",
                "test_batches_are_not_given_to_a_paused_job",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/records.sql",
        f"{_TESTS}_listing.py",
        [
            (
                "page_of_states",
                "lists the last row of the page before again",
                "number > $2",
                "number >= $2",
                "test_records_are_paged_both_ways_within_their_states",
            ),
            (
                "page_of_states_before",
                "gives the first page instead of the page before",
                "    order by number desc limit $4) r",
                "    order by number limit $4) r",
                "test_records_are_paged_both_ways_within_their_states",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/records.sql",
        f"{_TESTS}_matching.py",
        [
            (
                "scored",
                "ranks over the decision of a person",
                "and r.decided_by is null and r.query is not null",
                "and r.query is not null",
                "test_what_a_person_decides_before_a_re_rank_writes_is_left_by_it",
            ),
            (
                "chosen",
                "matches again what a person decided",
                "and state = any ($3::smallint[]) and decided_by is null",
                "and state = any ($3::smallint[])",
                "test_what_a_person_decided_is_left_by_a_rerun_and_a_re_rank",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/records.sql",
        f"{_TESTS}_races.py",
        [
            (
                "end_group",
                "ends a record that is being scored",
                "and not ready",
                "",
                "test_a_record_that_was_handed_to_scoring_is_not_ended_by_another_search_of_its_name",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/records.sql",
        f"{_TESTS}_types.py",
        [
            (
                "to_rescore",
                "ranks again what was asked with other types",
                "and s.types = $2",
                "and $2::text is not null",
                "test_a_re_rank_says_what_it_leaves_because_it_was_asked_with_other_types",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/decisions.sql",
        f"{_TESTS}_review.py",
        [
            (
                "hold_record",
                "lets two reviewers decide at once",
                " for update",
                "",
                "test_the_second_of_two_reviewers_gets_what_the_first_one_decided",
            ),
            (
                "accept_above",
                "accepts a record with a close rival",
                "and coalesce(gap, 0) >= $3::real",
                "and $3::real is not null",
                "test_a_bulk_accept_takes_what_reaches_its_thresholds_exactly",
            ),
            (
                "accept_above",
                "leaves a score that equals the threshold",
                "and score >= $2::real",
                "and score > $2::real",
                "test_a_bulk_accept_takes_what_reaches_its_thresholds_exactly",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/decisions.sql",
        f"{_TESTS}_review_guards.py",
        [
            (
                "undo",
                "undoes a decision about a record that changed since",
                "where r.state = m.to_state and r.entity is not distinct from m.to_entity\n      and case",
                "where case",
                "test_a_reopening_is_not_undone_once_the_record_was_ranked_otherwise",
            ),
            (
                "undo",
                "undoes a decision below later ones",
                "x.id > m.id and x.undone_at is null",
                "x.id > m.id and false and x.undone_at is null",
                "test_a_decision_is_not_undone_below_later_ones_that_led_to_the_same",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/review.py",
        f"{_TESTS}_review_guards.py",
        [
            (
                None,
                "accepts another entity than the one that was seen",
                "return same and self.entity in (None, record.entity)",
                "return same",
                "test_a_rejection_of_what_is_no_longer_shown_is_not_made",
            ),
            (
                None,
                "undoes the decision of another reviewer",
                "if last is not None and last.by != by.actor:",
                "if False:",
                "test_by_its_record_one_undoes_only_ones_own_decision_and_by_its_batch_any",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/candidates.sql",
        f"{_TESTS}_matching.py",
        [
            (
                "replace",
                "keeps candidates of an earlier scoring",
                "where n.record_id = candidates.record_id), 0)",
                "where n.record_id = candidates.record_id), 1000)",
                "test_candidates_of_an_earlier_scoring_go",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/cache.sql",
        f"{_TESTS}_ageing.py",
        [
            (
                "forget_searches",
                "forgets answers after hours instead of days",
                "interval '1 day'",
                "interval '1 hour'",
                "test_answers_are_forgotten_long_after_their_use_and_before_the_entities_they_name",
            ),
        ],
    ),
]
