"""Who gets in."""

from tests.service.conftest import Service


async def test_a_token_says_who_asks(service: Service) -> None:
    answer = await (await service.client("ann")).get("/api/me")
    assert (answer.status_code, answer.json()) == (200, {"name": "ann", "role": "operator"})


async def test_without_a_token_nothing_is_answered(service: Service) -> None:
    answer = await (await service.client(None)).get("/api/me")
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_an_expired_token_does_not_count(service: Service) -> None:
    await service.add_user("old", "operator", expired=True)
    assert (await (await service.client("old")).get("/api/me")).status_code == 401
