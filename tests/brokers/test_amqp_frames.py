"""Frames and acknowledgements without a server: what is cut is put together, what is long is split."""

import random
from typing import Any

import pytest
from pamqp import base, body, commands, frame, header

from penstock.brokers.rabbitmq.connection import address_of
from penstock.brokers.rabbitmq.frames import (
    BadFrame,
    Content,
    FrameReader,
    Sent,
    ack_frame,
    has_headers,
    publish_writes,
    read_properties,
)
from penstock.brokers.rabbitmq.holding import Front
from penstock.brokers.rabbitmq.publisher import Confirms
from penstock.errors import InvalidSetting, UsageError

PLAIN = commands.Basic.Properties(delivery_mode=2).marshal()


class Heard:
    def __init__(self) -> None:
        self.contents: list[tuple[int, Content]] = []
        self.methods: list[tuple[int, base.Frame]] = []
        self.confirms: list[tuple[int, int, bool, bool]] = []
        self.reader = FrameReader(
            method=lambda channel, method: self.methods.append((channel, method)),
            content=lambda channel, content: self.contents.append((channel, content)),
            confirm=lambda *given: self.confirms.append(given),
        )


def delivered(tag: int, raw: bytes, *, channel: int = 3, pieces: int = 1, **properties: Any) -> bytes:
    """As the broker sends it, written by the library."""
    head = header.ContentHeader(body_size=len(raw), properties=commands.Basic.Properties(**properties))
    step = -(-len(raw) // pieces) or 1
    parts = [commands.Basic.Deliver(consumer_tag="runner-1", delivery_tag=tag, exchange="", routing_key="q.low"), head]
    parts += [body.ContentBody(raw[start : start + step]) for start in range(0, len(raw), step)]
    return b"".join(frame.marshal(part, channel) for part in parts)


@pytest.mark.parametrize("step", [1, 2, 7, 8, 100, 10_000])
def test_messages_arrive_whole_however_the_bytes_are_cut(step):
    wire = delivered(1, b"first") + delivered(2, b"x" * 500, pieces=3) + delivered(3, b"")
    wire += frame.marshal(commands.Basic.Ack(delivery_tag=9, multiple=True), 2) + delivered(4, b"last", delivery_mode=2)
    heard = Heard()
    for start in range(0, len(wire), step):
        heard.reader.feed(wire[start : start + step])
    assert [(channel, one.tag, one.body) for channel, one in heard.contents] == [
        (3, 1, b"first"),
        (3, 2, b"x" * 500),
        (3, 3, b""),
        (3, 4, b"last"),
    ]
    assert heard.confirms == [(2, 9, True, True)]


def test_messages_of_two_channels_may_arrive_in_turns():
    one, other = delivered(1, b"a" * 20, channel=1, pieces=2), delivered(1, b"b" * 20, channel=2, pieces=2)
    ends = [i + 1 for i, byte in enumerate(one) if byte == 0xCE]
    cuts = list(zip([0, *ends[:-1]], ends, strict=True))
    heard = Heard()
    heard.reader.feed(b"".join(one[a:b] + other[a:b] for a, b in cuts))
    assert [(channel, content.body) for channel, content in heard.contents] == [(1, b"a" * 20), (2, b"b" * 20)]


def test_headers_are_read_only_where_there_are_some():
    heard = Heard()
    heard.reader.feed(delivered(1, b"x", delivery_mode=2) + delivered(2, b"x", headers={"x-delivery-count": 3}))
    plain, counted = (content.properties for _, content in heard.contents)
    assert not has_headers(plain)
    assert has_headers(counted) and read_properties(counted).headers == {"x-delivery-count": 3}


def test_a_returned_message_says_which_queue_is_missing():
    heard = Heard()
    returned = commands.Basic.Return(reply_code=312, reply_text="NO_ROUTE", exchange="", routing_key="p.high")
    wire = frame.marshal(returned, 1) + frame.marshal(header.ContentHeader(body_size=1), 1)
    heard.reader.feed(wire + frame.marshal(body.ContentBody(b"x"), 1))
    assert [(content.returned, content.key) for _, content in heard.contents] == [(True, "p.high")]


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (b"AMQP\x00\x01\x00\x00", "another version"),
        (b"HTTP/1.1 400 Bad Request\r\n", "does not speak AMQP"),
        (b"\x01\x00\x01\x00\x00\x00\x04\x00\x00\x00\x00\x00", "does not end"),
        (b"\x07\x00\x01\x00\x00\x00\x01\x00\xce", "unknown type 7"),
        (frame.marshal(body.ContentBody(b"x"), 1), "without a message"),
        (frame.marshal(header.ContentHeader(body_size=1), 1), "without a message"),
    ],
)
def test_what_is_no_amqp_is_refused(wire, said):
    with pytest.raises(BadFrame, match=said):
        Heard().reader.feed(wire)


@pytest.mark.parametrize("size", [0, 1, 4088, 4089, 10_000])
def test_a_long_body_is_split_at_the_size_that_was_agreed_on(size):
    raw = bytes(i % 251 for i in range(size))
    data = b"".join(publish_writes(5, [Sent("a.queue", PLAIN, raw), Sent("b.queue", PLAIN, b"next")], 4096))
    frames, sizes = [], []
    while data:
        used, channel, one = frame.unmarshal(data)
        assert channel == 5
        frames.append(one)
        sizes.append(used)
        data = data[used:]
    assert max(sizes) <= 4096
    assert b"".join(one.value for one in frames if isinstance(one, body.ContentBody)) == raw + b"next"
    publishes = [one for one in frames if isinstance(one, commands.Basic.Publish)]
    assert [(one.routing_key, one.exchange, one.mandatory) for one in publishes] == [
        ("a.queue", "", True),
        ("b.queue", "", True),
    ]
    headers = [one for one in frames if isinstance(one, header.ContentHeader)]
    assert [(one.body_size, one.properties.delivery_mode) for one in headers] == [(size, 2), (4, 2)]


def test_a_batch_becomes_few_writes():
    writes = list(publish_writes(1, [Sent("q", PLAIN, b"x" * 300)] * 1000, 131_072))
    assert len(writes) <= 2


def test_an_acknowledgement_reads_as_the_library_reads_it():
    _, channel, ack = frame.unmarshal(ack_frame(7, 2**40, multiple=True))
    assert isinstance(ack, commands.Basic.Ack)
    assert (channel, ack.delivery_tag, ack.multiple) == (7, 2**40, True)


@pytest.mark.parametrize("seed", range(20))
def test_each_delivery_is_acknowledged_once_and_the_broker_knows_each_tag(seed):
    """A broker closes the channel on a tag it does not know any more."""
    chance = random.Random(seed)
    order = sorted(range(1, 201), key=lambda tag: tag + chance.uniform(0, 1 + seed * 5))
    front, pending, told = Front(), set(order), 0
    while order:
        count = chance.randint(1, 30)
        now, order = order[:count], order[count:]
        through, singly, fresh = front.done([*now, *now[:2]])
        assert fresh == set(now)
        for tag in singly:
            pending.remove(tag)
        if through:
            assert through in pending
            pending = {tag for tag in pending if tag > through}
        assert pending == set(order)
        told += len(singly) + bool(through)
    assert front.done([5, 5]) == (0, [], set())
    assert seed or told < 40


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_is_confirmed_when_every_message_is(seed):
    chance = random.Random(seed)
    confirms, open_tags, last = Confirms(), set[int](), 0
    for _ in range(3):
        confirms.expect(50)
        open_tags |= set(range(last + 1, last + 51))
        last += 50
        while open_tags:
            assert not confirms.complete
            tag, multiple = chance.choice(sorted(open_tags)), chance.random() < 0.3
            confirms.take(tag, multiple=multiple, taken=True)
            open_tags -= {one for one in open_tags if one <= tag} if multiple else {tag}
        assert confirms.complete and confirms.refused == 0


def test_a_message_that_was_not_stored_is_counted():
    confirms = Confirms()
    confirms.expect(3)
    confirms.take(2, multiple=True, taken=True)
    confirms.take(3, multiple=False, taken=False)
    assert confirms.complete and confirms.refused == 1


@pytest.mark.parametrize(
    ("url", "shown", "user", "password", "vhost"),
    [
        ("amqp://broker.example.com", "amqp://broker.example.com:5672/", "guest", "guest", "/"),
        ("amqps://ada:p%40ss@broker.example.com/jobs", "amqps://broker.example.com:5671/jobs", "ada", "p@ss", "jobs"),
        ("amqp://ada@[::1]:99/%2Fodd", "amqp://[::1]:99//odd", "ada", "", "/odd"),
    ],
)
def test_an_address_is_shown_without_its_password(url, shown, user, password, vhost):
    address = address_of(url)
    assert (str(address), address.user, address.password, address.vhost) == (shown, user, password, vhost)
    assert "p@ss" not in repr(address)


@pytest.mark.parametrize("url", ["http://x", "amqp://ada:secret@host:port/"])
def test_a_bad_address_is_told_without_its_password(url):
    with pytest.raises(InvalidSetting) as caught:
        address_of(url)
    assert "secret" not in str(caught.value) and "PENSTOCK_RABBITMQ_URL" in str(caught.value)


def test_a_missing_address_is_told():
    with pytest.raises(UsageError, match="PENSTOCK_RABBITMQ_URL"):
        address_of(None)
