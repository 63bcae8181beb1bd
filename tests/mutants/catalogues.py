"""Bugs of the catalogue: another product taken for the one of the row, providers in the wrong order, pages."""

from tests.mutants.catalogue import Mutant, in_area

_AREA = "catalogue"
_APP = "extensions/catalogue"
_TESTS = "tests/extensions/test_catalogue"

CATALOGUES: list[Mutant] = [
    *in_area(
        _AREA,
        f"{_APP}/sql/catalogues.sql",
        f"{_TESTS}_api.py",
        [
            (
                "page",
                "lists the last row of the page before again",
                "id < $2",
                "id <= $2",
                "test_pages_of_lists_go_on_where_they_ended",
            ),
            (
                "page",
                "lists the catalogues of other users",
                "or owner = $1",
                "or $1 is not null",
                "test_what_is_somebody_elses_or_no_catalogue_is_not_there",
            ),
            (
                "job",
                "shows a job of another pipeline",
                "and pipeline = $2",
                "and $2::text is not null",
                "test_jobs_of_other_pipelines_are_no_catalogues",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/api.py",
        f"{_TESTS}_api.py",
        [
            (
                None,
                "shows everybody the errors of others",
                "one if with_errors else replace(one, last_error=None)",
                "one",
                "test_what_went_wrong_at_a_provider_is_shown_to_admins",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/products.sql",
        f"{_TESTS}_products.py",
        [
            (
                "by_sku",
                "ignores the brand of an article number",
                "and ($2::text is null or search_brand in ('', $2))",
                "and ($2::text is null or search_brand is not null)",
                "test_the_same_article_number_of_another_brand_is_no_match",
            ),
            (
                "by_sku",
                "prefers a product without a brand",
                "order by (search_brand = coalesce($2, '')) desc, id",
                "order by (search_brand = coalesce($2, '')), id",
                "test_of_products_with_one_article_number_that_of_the_brand_is_taken",
            ),
            (
                "upsert",
                "counts a changed product as new",
                "(xmax = 0) as created",
                "true as created",
                "test_a_list_imported_again_changes_its_products",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/sql/search_events.sql",
        f"{_TESTS}_pipeline.py",
        [
            (
                "forget",
                "forgets events in hours instead of days",
                "make_interval(secs => $1::float8)",
                "make_interval(secs => $1::float8 / 24)",
                "test_search_events_within_the_retention_stay",
            ),
            (
                "forget_orphans",
                "forgets the events of jobs that exist",
                "and not exists (select from penstock.job_states j where j.job_id = known.job_id)",
                "",
                "test_search_events_are_kept_as_long_as_the_items_of_jobs",
            ),
        ],
    ),
    *in_area(
        _AREA,
        "providers/http_transport.py",
        "tests/unit/test_http_transport.py",
        [
            (
                None,
                "forgets connections whose closing was cancelled",
                "await asyncio.shield(asyncio.gather(*(connection.aclose() for connection in closing)))",
                "await super()._close_connections(closing)",
                "test_a_request_cancelled_as_it_closes_expired_connections_closes_all_of_them",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/waterfall.py",
        f"{_TESTS}_verification.py",
        [
            (
                None,
                "asks for titles before numbers",
                "(*product(providers, exact), *product(providers, texts))",
                "(*product(providers, texts), *product(providers, exact))",
                "test_an_exact_number_at_a_later_provider_wins_over_a_title_at_an_earlier_one",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/verifying.py",
        f"{_TESTS}_verification.py",
        [
            (
                None,
                "takes a product with another GTIN",
                "and row.gtin != gtin",
                "and row.gtin == gtin",
                "test_a_local_product_with_another_gtin_is_not_taken_for_its_title",
            ),
            (
                None,
                "believes a part of a title",
                "part_is_enough = query.by_number and",
                "part_is_enough =",
                "test_an_answer_over_http_is_held_against_the_row",
            ),
            (
                None,
                "refuses a title that leaves numbers out",
                "<= _written(known) or numbers(known)",
                "<= _written(known) and numbers(known)",
                "test_an_answer_over_http_is_held_against_the_row",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/local_products.py",
        f"{_TESTS}_pipeline.py",
        [
            (
                None,
                "takes one of two products that fit alike",
                "return None if rivals else best",
                "return best",
                "test_of_two_products_that_fit_alike_none_is_taken",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/understood.py",
        f"{_TESTS}_reading.py",
        [
            (
                None,
                "weighs the digits from the left",
                "enumerate(reversed(digits))",
                "enumerate(digits)",
                "test_a_gtin_of_any_kind_becomes_fourteen_digits",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/understood.py",
        f"{_TESTS}_reading.py",
        [
            (
                None,
                "reads 1.234 as a little more than one",
                "if len(rest) == 3 and",
                "if len(rest) > 3 and",
                "test_prices_are_read_as_people_write_them",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/http_answer.py",
        f"{_TESTS}_reading.py",
        [
            (
                None,
                "fails on a position behind the end of a list",
                "step < len(data)",
                "step <= len(data)",
                "test_paths_lead_through_objects_and_lists_and_nowhere_else",
            ),
        ],
    ),
    *in_area(
        _AREA,
        f"{_APP}/enrich.py",
        f"{_TESTS}_pipeline.py",
        [
            (
                None,
                "ignores the roles of the options",
                'roles_of(list(metadata.get("columns") or ()), options_of(metadata).get("roles"))',
                'roles_of(list(metadata.get("columns") or ()), None)',
                "test_given_roles_count_before_headings",
            ),
        ],
    ),
]
