"""Bugs of the service: who may see what, where a page goes on, how long a login lasts, what a stream tells."""

from tests.mutants.catalogue import Mutant, in_area

_AREA = "service"
_TESTS = "tests/console"

SERVICE: list[Mutant] = [
    *in_area(
        _AREA,
        "console/http/ownership.py",
        f"{_TESTS}/test_operations_of_items.py",
        [
            (
                None,
                "shows an item without an owner to everybody",
                "return actor.is_admin or owner == actor.name",
                "return actor.is_admin or owner in (None, actor.name)",
                "test_an_item_without_an_owner_is_the_admins",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/ownership.py",
        f"{_TESTS}/test_jobs.py",
        [
            (
                None,
                "lists the jobs of all users to an operator",
                "    if not actor.is_admin:\n        raise Problem(403",
                '    if actor.role == "viewer":\n        raise Problem(403',
                "test_others_do_not_see_the_job_and_admins_are_noted",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/cursors.py",
        f"{_TESTS}/test_jobs.py",
        [
            (
                None,
                "accepts a cursor of another user",
                "bound = orjson.dumps([user, [",
                'bound = orjson.dumps(["", [',
                "test_a_cursor_is_worth_nothing_to_others_or_with_other_filters",
            ),
            (
                None,
                "accepts a cursor of another filter",
                "[_plain(value) for value in query]])",
                "len(query)])",
                "test_a_cursor_is_worth_nothing_to_others_or_with_other_filters",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/cursors.py",
        f"{_TESTS}/test_accounts.py",
        [
            (
                None,
                "cursor skips the first row of the next page",
                "value(shown[-1])",
                "value(found[-1])",
                "test_tokens_come_in_pages",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/moves.py",
        f"{_TESTS}/test_moves.py",
        [
            (
                None,
                "offers moves to a viewer",
                "actor.role.rank >= Role.operator.rank",
                "actor.role.rank >= Role.viewer.rank",
                "test_a_viewer_is_offered_nothing_of_their_own",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/routes/audit.py",
        f"{_TESTS}/test_accounts_audit.py",
        [
            (
                None,
                "shows an operator the acts of all users",
                "concerning = None if actor.is_admin else actor.name",
                "concerning = None",
                "test_an_operator_sees_own_acts_and_acts_on_own_objects_only",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/routes/selections.py",
        f"{_TESTS}/test_selections.py",
        [
            (
                None,
                "lets a former admin act on the items of others",
                "elif not actor.is_admin and not await _theirs(ground, actor, found):",
                "elif False:",
                "test_who_is_no_admin_any_more_cannot_use_what_they_chose_as_one",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/attempts.py",
        f"{_TESTS}/test_accounts_login.py",
        [
            (
                None,
                "allows one attempt more than the limit",
                "if len(times) >= self._most:",
                "if len(times) > self._most:",
                "test_attempts_are_counted_in_a_window_that_moves",
            ),
            (
                None,
                "counts every IPv6 address by itself",
                "(parsed, 64)",
                "(parsed, 128)",
                "test_a_network_of_ipv6_addresses_is_one_address_and_memory_is_bounded",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/actor.py",
        f"{_TESTS}/test_actors.py",
        [
            (
                None,
                "trusts a request from a sibling domain",
                'fetched_from != "same-origin"',
                'fetched_from not in ("same-origin", "same-site")',
                "test_a_forged_request_of_another_site_changes_nothing",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/login.py",
        f"{_TESTS}/test_passwords.py",
        [
            (
                None,
                "redirects to another site by a backslash",
                'if "\\\\" in wanted or not',
                "if not",
                "test_no_address_leads_away_from_here",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/http/bodies.py",
        f"{_TESTS}/test_body_limits.py",
        [
            (
                None,
                "believes the announced length of a body",
                "await self._allow(self._seen_bytes)",
                "await self._allow(0)",
                "test_a_stranger_may_send_little_and_is_told_the_limit",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/live/stream.py",
        f"{_TESTS}/test_stream.py",
        [
            (
                None,
                "repeats the last event after a reconnect",
                "note.number > last]",
                "note.number >= last]",
                "test_a_client_that_comes_back_gets_what_it_missed",
            ),
            (
                None,
                "resets a client that missed only the oldest event",
                "last + 1 < oldest_known",
                "last < oldest_known",
                "test_what_has_left_the_ring_is_a_reset_and_what_is_still_there_is_not",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/storage/sql/tokens.sql",
        f"{_TESTS}/test_actors.py",
        [
            (
                "holder",
                "accepts a revoked token",
                "and t.revoked_at is null",
                "",
                "test_a_revoked_token_does_not_count_from_the_next_request_on",
            ),
            (
                "holder",
                "accepts the token of a disabled user",
                "and u.disabled_at is null",
                "",
                "test_a_disabled_user_is_out_at_once_by_token_and_by_session",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/storage/sql/sessions.sql",
        f"{_TESTS}/test_own_sessions.py",
        [
            (
                "revoke_one",
                "ends the session of another user",
                "and u.name = $2",
                "and $2::text is not null",
                "test_a_session_is_ended_from_another_browser",
            ),
            (
                "revoke_others",
                "ends the session that asks",
                "and s.hash is distinct from $2",
                "and $2::bytea is not distinct from $2",
                "test_all_others_end_and_the_one_that_asks_stays",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/storage/sql/sessions.sql",
        f"{_TESTS}/test_actors.py",
        [
            (
                "holder",
                "extends a session without end",
                "least(now() + $2 * interval '1 second', s.created_at + $3 * interval '1 second')",
                "now() + $2 * interval '1 second'",
                "test_use_keeps_a_session_alive_up_to_seven_days",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/storage/sql/login_links.sql",
        f"{_TESTS}/test_accounts_login.py",
        [
            ("use", "lets a link be used twice", "and l.used_at is null", "", "test_a_link_works_once"),
        ],
    ),
]
