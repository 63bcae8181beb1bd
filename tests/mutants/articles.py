"""Bugs of article search: who sees which text, stale vectors, moves of generations, pages."""

from tests.mutants.catalogue import Mutant, in_area

_AREA = "articles"
_APP = "extensions/articles"
_TESTS = "tests/extensions/test_articles"

ARTICLES: list[Mutant] = [
    *in_area(
        _AREA,
        f"{_APP}/sql/articles.sql",
        f"{_TESTS}_api_list.py",
        [
            (
                "page_for",
                "lists the private articles of others",
                "where visibility = 'shared' and",
                "where visibility is not null and",
                "test_one_sees_ones_own_and_shared_ones_in_one_order",
            ),
            (
                "page_for",
                "orders shared articles of one moment the wrong way",
                "union select * from shared order by updated_at desc, id desc limit $4",
                "union select * from shared order by updated_at desc, id limit $4",
                "test_articles_that_changed_at_one_moment_are_paged_once_each",
            ),
            (
                "page_of_all",
                "lists the last row of the page before again",
                "(a.updated_at, a.id) < ($1, $2)",
                "(a.updated_at, a.id) <= ($1, $2)",
                "test_pages_go_down_and_up_again_over_every_row_once",
            ),
            (
                "by_slugs",
                "tells the private articles of others",
                "or a.visibility = 'shared'",
                "or a.visibility is not null",
                "test_known_articles_are_told_as_they_are_now_to_who_may_see_them",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/articles.sql",
        f"{_TESTS}_api.py",
        [
            (
                "revise",
                "shares what an article said before",
                "coalesce(shared_from, $6)",
                "coalesce(shared_from, 1)",
                "test_others_do_not_read_what_an_article_said_before_it_was_shared",
            ),
            (
                "revisions",
                "lists revisions from before the sharing",
                "and revision >= $4",
                "and $4::integer is not null",
                "test_others_do_not_read_what_an_article_said_before_it_was_shared",
            ),
            (
                "lock",
                "lets two editors save at once",
                "for no key update",
                "",
                "test_editors_who_save_at_the_same_time_do_not_overwrite_each_other",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/api_access.py",
        f"{_TESTS}_api.py",
        [
            (
                None,
                "lets readers change a shared article",
                "if found.owner != actor.name and not actor.is_admin:\n        raise Problem(",
                "if found.visibility is Visibility.PRIVATE and not actor.is_admin and found.owner != actor.name:\n"
                "        raise Problem(",
                "test_a_shared_article_is_read_by_all_and_changed_by_its_owner",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/vectors.sql",
        f"{_TESTS}_guards.py",
        [
            (
                "accept",
                "stores an older text over a newer one",
                "where i.revision <= excluded.revision",
                "",
                "test_an_older_text_does_not_come_back_over_a_newer_one",
            ),
            (
                "accept",
                "stores vectors of an article that is being deleted",
                "order by a.id for key share",
                "order by a.id",
                "test_a_store_waits_for_a_delete_that_is_under_way_and_then_stores_nothing",
            ),
            (
                "bury",
                "leaves no mark for processes that keep vectors",
                ", changed = pg_current_xact_id()",
                "",
                "test_a_process_that_keeps_vectors_forgets_those_of_a_deleted_article",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/generation_moves.sql",
        f"{_TESTS}_generations.py",
        [
            (
                "active_before",
                "rolls back to a generation activated later",
                "and s.activated_at < a.activated_at",
                "",
                "test_a_second_roll_back_goes_further_back_and_never_forward_again",
            ),
            (
                "mark_dropped",
                "drops the active generation",
                "state not in ('active', 'dropped')",
                "state <> 'dropped'",
                "test_moves_that_are_not_possible_change_nothing_and_say_why",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/reindexing.sql",
        f"{_TESTS}_generations.py",
        [
            (
                "page",
                "leaves out a failed article that was edited since",
                "not ($9 and coalesce(f.at >= a.updated_at, false))",
                "not ($9 and f.at is not null)",
                "test_a_failed_article_that_was_edited_since_is_looked_at_again",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/generation_moves.sql",
        f"{_TESTS}_guards.py",
        [
            (
                "ready",
                "revives a dropped generation",
                "where id = $1 and state = 'building'",
                "where id = $1",
                "test_a_generation_that_was_dropped_meanwhile_does_not_become_ready",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/keyword.sql",
        f"{_TESTS}_search_keyword.py",
        [
            (
                "ranked",
                "finds a private title of others",
                "@@ w.word\n          and ($6::text is null or a.visibility = 'shared' or a.owner = $6) and",
                "@@ w.word and",
                "test_the_filter_hides_what_is_private_to_others",
            ),
            (
                "ranked",
                "ignores the end of a time range",
                "@@ s.search\n          and ($6::text is null or a.visibility = 'shared' or a.owner = $6) and"
                " ($7::text is null or a.owner = $7)\n          and ($8::timestamptz is null or a.updated_at >= $8)"
                " and ($9::timestamptz is null or a.updated_at < $9)",
                "@@ s.search\n          and ($6::text is null or a.visibility = 'shared' or a.owner = $6) and"
                " ($7::text is null or a.owner = $7)\n          and ($8::timestamptz is null or a.updated_at >= $8)",
                "test_the_filter_hides_what_changed_after_its_end",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/saved_queries.sql",
        f"{_TESTS}_api_index.py",
        [
            (
                "remove",
                "removes the saved query of another user",
                "or owner = $2",
                "or $2 is not null",
                "test_saved_queries_belong_to_who_saved_them",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/alerts.sql",
        f"{_TESTS}_alerts.py",
        [
            (
                "take",
                "sends one alert from every process",
                "and coalesce((details ->> 'sending_until')::timestamptz, '-infinity') < now()",
                "",
                "test_many_watchers_send_one_message",
            ),
            (
                "signs",
                "raises an alert for a paused pipeline",
                " and not s.paused",
                "",
                "test_what_somebody_paused_is_no_trouble",
            ),
        ],
    ),
]
