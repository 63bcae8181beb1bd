"""Bugs of intake and export: rows lost or doubled, files of others, limits that do not count."""

from tests.mutants.catalogue import Mutant, in_area

_AREA = "intake"

INTAKE: list[Mutant] = [
    *in_area(
        _AREA,
        "console/files/csv_rows.py",
        "tests/unit/test_csv_rows.py",
        [
            (
                None,
                "loses the first row of a file without a header",
                "0 if shape.has_header else 1",
                "0",
                "test_a_file_without_header_gives_its_first_line_as_a_row",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/csv_shape.py",
        "tests/unit/test_csv_rows.py",
        [
            (
                None,
                "prefers a delimiter with more cells to one that fits more rows",
                "score = (round(rows / widths.total(), 2), width)",
                "score = (width, round(rows / widths.total(), 2))",
                "test_delimiter_quotes_and_header_are_found_out",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/csv_rows.py",
        "tests/unit/test_csv_rows.py",
        [
            (
                None,
                "limits the whole file like one row",
                "self._chunks.since_row = 0",
                "pass",
                "test_the_limit_is_one_of_a_row_and_not_of_the_file",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/zip_images.py",
        "tests/unit/test_zip_images.py",
        [
            (
                None,
                "starts the total anew with each image",
                "self._total += more",
                "self._total = size",
                "test_the_sum_of_all_images_is_limited",
            ),
            (
                None,
                "gives two images the same name",
                "taken.add(unlike)",
                "taken.add(name)",
                "test_files_of_one_name_are_kept_apart",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/importing.py",
        "tests/console/test_files_in.py",
        [
            (
                None,
                "stores the last image again after a restart",
                "if number > self._found.rows_stored:",
                "if number >= self._found.rows_stored:",
                "test_images_that_were_stored_before_a_restart_are_not_stored_again",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/submit.py",
        "tests/console/test_jobs.py",
        [
            (
                None,
                "shares an idempotency key between users",
                'f"{self.owner}\\0{self.idempotency_key}"',
                'f"{self.idempotency_key}"',
                "test_the_same_idempotency_key_gives_the_same_job_for_one_user",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/room.py",
        "tests/console/test_submit_faults.py",
        [
            (
                None,
                "does not count the rows that are sent",
                "waiting + adding > settings.owner_max_items or waiting",
                "waiting",
                "test_files_whose_rows_are_still_to_come_count_and_so_do_the_rows_that_are_sent",
            ),
            (
                None,
                "lets submissions of one owner race",
                "        await items.take_turn(connection, owner)\n",
                "",
                "test_submissions_at_the_same_moment_share_the_owners_limit",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/export/formulas.py",
        "tests/unit/test_export_formulas.py",
        [
            (
                None,
                "runs a formula behind a tab",
                '"-=+@\\t\\r',
                '"-=+@\\r',
                "test_a_formula_and_what_looks_like_a_guarded_one_get_an_apostrophe",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/export/layout.py",
        "tests/unit/test_export_parts.py",
        [
            (
                None,
                "exports the first copy of a row edited twice",
                "        while (copy := self._copy_of.get(task_id)) is not None:\n            task_id = copy\n",
                "        task_id = self._copy_of.get(task_id, task_id)\n",
                "test_edited_rows_stand_where_they_stood_and_nowhere_else",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/export/xlsx_file.py",
        "tests/unit/test_export_parts.py",
        [
            (
                None,
                "rounds a large integer in a sheet",
                "return value if abs(value) <= _EXACT_INTEGER else str(value)",
                "return value",
                "test_a_number_that_a_sheet_would_round_is_text",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/files/sources/guard.py",
        "tests/core/test_sources_guard.py",
        [
            (
                None,
                "reads a folder whose name begins like a root",
                "resolved.is_relative_to(root.resolve(strict=True))",
                "str(resolved).startswith(str(root.resolve(strict=True)))",
                "test_what_is_not_a_file_of_a_root_is_refused",
            ),
            (
                None,
                "checks only the first address of a host",
                "for address in addresses:",
                "for address in addresses[:1]:",
                "test_one_private_address_among_several_refuses_the_name",
            ),
            (
                None,
                "reaches the metadata service of a cloud",
                " and address not in _METADATA",
                "",
                "test_an_address_of_ours_is_refused_however_it_is_written",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/storage/sql/sightings.sql",
        "tests/core/test_sources_folder.py",
        [
            (
                "take",
                "takes a file that is still written",
                "and first_seen_at <= now() - make_interval(secs => $3)",
                "and $3::float8 is not null",
                "test_a_file_waits_until_it_has_been_the_same_for_long_enough",
            ),
            (
                "observe",
                "does not wait for a file that came back",
                "case when known.state = 'gone' then now() else known.first_seen_at end",
                "known.first_seen_at",
                "test_a_file_that_came_back_starts_its_wait_anew",
            ),
            (
                "hold",
                "takes a content that was settled meanwhile",
                "where id = $1 and state in ('seen', 'submitting')",
                "where id = $1",
                "test_a_file_that_was_settled_meanwhile_is_not_held_again",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/storage/sql/files.sql",
        "tests/console/test_jobs.py",
        [
            (
                "earlier_job",
                "tells the job of another user as a duplicate",
                "f.owner = $1 and",
                "$1::text is not null and",
                "test_a_file_that_was_sent_before_is_noticed",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "console/storage/sql/files.sql",
        "tests/console/test_every_route.py",
        [
            (
                "read_chunk",
                "reads the file of another job",
                "and f.job_id = $3",
                "and $3::bigint is not null",
                "test_a_file_of_ann_inside_an_input_of_bob_is_not_read",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "storage/sql/imports.sql",
        "tests/console/test_submit_faults.py",
        [
            (
                "advance",
                "stores a batch twice",
                "and i.rows_stored = $2",
                "and $2::integer is not null",
                "test_rows_that_another_worker_has_stored_are_not_stored_again",
            ),
            (
                "advance",
                "goes on after the job was cancelled",
                "and j.cancelled_at is null)",
                ")",
                "test_no_further_rows_of_a_cancelled_job_are_stored",
            ),
        ],
    ),
]
