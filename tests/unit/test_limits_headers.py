from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.retry import ErrorClass, RetryPolicy, classify
from penstock.errors import ThrottledError
from penstock.limits.rate_headers import asked_wait_seconds, wait_asked_by

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "status", "wait"),
    [
        ({"Retry-After": "7"}, 429, 7),
        ({"retry-after": "7"}, 503, 7),
        ({"RETRY-AFTER": " 1.5 "}, None, 1.5),
        ({"Retry-After": "Fri, 20 Nov 2026 12:00:30 GMT"}, 429, 30),
        ({"Retry-After": "Fri, 20 Nov 2026 11:00:00 GMT"}, 503, None),
        ({"Retry-After": "soon"}, 429, 1),
        ({"Retry-After": "nan"}, 429, 1),
        ({"Retry-After": "99999999"}, 429, 86_400),
        ({"Retry-After": "7"}, 202, None),
        ({}, 429, 1),
        ({}, 200, None),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "20"}, 200, 20),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW.timestamp()) + 9)}, 200, 9),
        (
            {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW.timestamp() * 1000) + 9000)},
            200,
            9,
        ),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-11-20T12:00:05Z"}, 200, 5),
        ({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "20"}, 200, None),
        ({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "20"}, 429, 20),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": "4"}, 200, 4),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "20", "Retry-After": "5"}, 429, 20),
        ({"X-RateLimit-Remaining": "0"}, 200, None),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "-5"}, 429, 1),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW.timestamp()) - 60)}, 429, 1),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "-5"}, 200, None),
        ({"X-RateLimit-Reset": "-5", "Retry-After": "3"}, 429, 3),
    ],
)
def test_an_answer_is_read_for_how_long_it_asks_to_wait(headers, status, wait):
    assert asked_wait_seconds(headers, status, now=NOW) == wait


def test_a_time_of_day_counts_from_the_answers_own_date_and_not_from_our_clock():
    headers = {"Date": "Fri, 20 Nov 2026 12:00:00 GMT", "Retry-After": "Fri, 20 Nov 2026 12:00:30 GMT"}
    an_hour_fast = NOW.replace(hour=13)
    assert asked_wait_seconds(headers, 429, now=an_hour_fast) == 30


ABSURD = (
    "Mon, 01 Jan 2024 00:00:00 +99999999999999",
    "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
    "Mon, 01 Jan 2024 99999999999999999999:00:00 GMT",
    "99999999999999999999999999999999999999-01-01T00:00:00Z",
)


@pytest.mark.parametrize("text", ABSURD)
def test_a_date_that_no_calendar_has_counts_as_no_header(text):
    assert asked_wait_seconds({"Retry-After": text}, 429, now=NOW) == 1
    assert asked_wait_seconds({"Retry-After": text}, 503, now=NOW) is None
    assert asked_wait_seconds({"Date": text, "Retry-After": "Fri, 20 Nov 2026 12:00:30 GMT"}, 429, now=NOW) == 30
    assert asked_wait_seconds({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": text}, 200, now=NOW) is None
    assert asked_wait_seconds({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": text}, 429, now=NOW) == 1


@pytest.mark.parametrize("text", ABSURD)
def test_a_429_with_an_absurd_date_is_still_judged_a_429(text):
    verdict = classify(HttpxLike(Answer(429, {"Retry-After": text})), RetryPolicy())
    assert (verdict.kind, verdict.retry_after_seconds) == (ErrorClass.THROTTLED, 1)


def test_a_wait_that_no_float_can_hold_is_the_longest_one():
    assert classify(ThrottledError(retry_after=10**400), RetryPolicy()).retry_after_seconds == 86_400


DIGITS = st.text("0123456789", min_size=1, max_size=30)
SIGNS = st.sampled_from(("", "-", "+"))
DATES = st.builds(
    "{}, {} {} {} {}:{}:{} {}{}".format,
    st.sampled_from(("Mon", "Fri", "Someday")),
    DIGITS,
    st.sampled_from(("Jan", "Nov", "Smarch")),
    DIGITS,
    DIGITS,
    DIGITS,
    DIGITS,
    st.sampled_from(("GMT", "+", "-", "")),
    DIGITS,
)
ISO_DATES = st.builds("{}{}-{}-{}T{}:{}:{}{}{}".format, SIGNS, *([DIGITS] * 6), SIGNS, DIGITS)
NUMBERS = st.builds("{}{}{}".format, SIGNS, DIGITS, st.sampled_from(("", "e999", ".5", "_", "inf")))
VALUES = st.one_of(st.text(max_size=60), DATES, ISO_DATES, NUMBERS, st.sampled_from(ABSURD))
NAMES = st.sampled_from(
    ("Retry-After", "Date", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Reset", "x-rate-limit-reset")
)


@settings(max_examples=500, deadline=None)
@given(headers=st.dictionaries(NAMES, VALUES), status=st.sampled_from((None, 200, 202, 429, 503)))
def test_no_headers_raise_and_a_wait_is_never_beyond_a_day(headers, status):
    wait = asked_wait_seconds(headers, status)
    assert wait is None or 0 < wait <= 86_400
    assert wait is not None or status != 429
    classify(HttpxLike(Answer(status, headers)), RetryPolicy())


class Answer:
    def __init__(self, status_code, headers):
        self.status_code = status_code
        self.headers = headers


class HttpxLike(Exception):
    def __init__(self, response):
        self.response = response


class AiohttpLike(Exception):
    def __init__(self, status, headers):
        self.status = status
        self.headers = headers


@pytest.mark.parametrize(
    ("error", "wait"),
    [
        (HttpxLike(Answer(429, {"retry-after": "3"})), 3),
        (HttpxLike(Answer(503, {"retry-after": "3"})), 3),
        (HttpxLike(Answer(500, {})), None),
        (AiohttpLike(429, {"Retry-After": "3"}), 3),
        (AiohttpLike(429, None), 1),
        (ValueError("not of HTTP"), None),
    ],
)
def test_an_http_error_is_asked_for_the_answer_it_carries(error, wait):
    assert wait_asked_by(error) == wait
