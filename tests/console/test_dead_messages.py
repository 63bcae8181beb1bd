"""Dead messages over HTTP, where no broker is in use. Sending them is tested with brokers in tests/brokers."""

import base64

from tests.console import world as worlds
from tests.console.conftest import Service


async def test_admins_page_through_messages_and_see_their_bytes(service: Service) -> None:
    world = await worlds.make(service)
    root = await service.client("root")
    numbers = [await world.dead_message(b"\xff\x00%d" % n) for n in range(3)]
    seen, cursor = list[int](), None
    for _ in range(2):
        page = (
            await root.get(
                "/api/dead-letters/messages", params={"pageSize": 2, **({"after": cursor} if cursor else {})}
            )
        ).json()
        seen += [one["messageId"] for one in page["items"]]
        cursor = page["nextCursor"]
    assert seen == numbers[::-1] and cursor is None
    one = (await root.get(f"/api/dead-letters/messages/{numbers[1]}")).json()
    assert base64.b64decode(one["base64"]) == b"\xff\x001" and one["decoded"] is None
    assert one["reason"] == "it is no JSON" and one["stage"] is None and "none of a stage" in one["problem"]
    assert (await root.get("/api/dead-letters/messages?transport=rabbitmq")).json()["items"] == []
    assert (await root.get("/api/dead-letters/messages?state=replayed")).json()["items"] == []
    assert (await root.get("/api/dead-letters/messages?stage=nowhere")).status_code == 404
    assert (await root.get("/api/dead-letters/messages/4711")).status_code == 404


async def test_what_cannot_be_sent_is_refused_in_a_sentence_and_stays(service: Service) -> None:
    world = await worlds.make(service)
    root = await service.client("root")
    number = await world.dead_message()
    place = f"/api/dead-letters/messages/{number}/replay"
    as_it_is = await root.post(place)
    assert as_it_is.status_code == 409 and "none of a stage we know" in as_it_is.json()["detail"]
    postgres = await root.post(place, json={"stage": "add"})
    assert postgres.status_code == 409 and "claimed from PostgreSQL" in postgres.json()["detail"]
    assert (await root.post(place, json={"base64": "???"})).status_code == 400
    assert (await root.post(place, json={"base64": "x" * 90_000})).status_code == 422
    many = (await root.post("/api/dead-letters/messages/replay", json={"canary": True})).json()
    assert many["replayed"] == 0 and [one["messageId"] for one in many["refused"]] == [number]
    slow = await root.post("/api/dead-letters/messages/replay", json={"perSecond": 1, "most": 1000})
    assert slow.status_code == 400 and "Ask for 60 at a time" in slow.json()["detail"]
    assert len((await root.get("/api/dead-letters/messages")).json()["items"]) == 1


async def test_what_is_thrown_away_is_gone_and_in_the_audit_log(service: Service) -> None:
    world = await worlds.make(service)
    root = await service.client("root")
    number = await world.dead_message()
    assert (await root.delete(f"/api/dead-letters/messages/{number}")).status_code == 204
    assert (await root.delete(f"/api/dead-letters/messages/{number}")).status_code == 404
    (entry,) = (await root.get("/api/audit?action=dead-message.discard")).json()["items"]
    assert entry["object"] == str(number) and entry["actor"] == "root"
