from datetime import UTC, datetime

import pytest

from penstock.engine.rate_headers import asked_wait_seconds, wait_asked_by

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
    ],
)
def test_an_answer_is_read_for_how_long_it_asks_to_wait(headers, status, wait):
    assert asked_wait_seconds(headers, status, now=NOW) == wait


def test_a_time_of_day_counts_from_the_answers_own_date_and_not_from_our_clock():
    headers = {"Date": "Fri, 20 Nov 2026 12:00:00 GMT", "Retry-After": "Fri, 20 Nov 2026 12:00:30 GMT"}
    an_hour_fast = NOW.replace(hour=13)
    assert asked_wait_seconds(headers, 429, now=an_hour_fast) == 30


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
