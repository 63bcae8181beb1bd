"""RabbitMQ that is full, frozen or started anew, and RabbitMQ behind TLS."""

import asyncio
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.brokers.rabbitmq import (
    channel as amqp_channel,
)
from penstock.brokers.rabbitmq import (
    connection as amqp_connection,
)
from penstock.brokers.rabbitmq import (
    publisher as rabbitmq_publisher,
)
from penstock.brokers.rabbitmq.frames import Sent
from penstock.brokers.rabbitmq.publisher import Publisher
from penstock.brokers.rabbitmq.transport import RabbitTransport
from penstock.brokers.transport import BrokerAway, BrokerRefused, Outgoing
from penstock.closing import stop_listening
from penstock.testing.brokers import RABBITMQ_VARIABLE, RabbitServer, free_port
from tests.brokers.test_rabbitmq import consumer, made, received, texts


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[RabbitServer]:
    """With a second port that speaks TLS; its certificate is signed by itself."""
    if os.environ.get(RABBITMQ_VARIABLE):
        pytest.skip(f"{RABBITMQ_VARIABLE} names a server, and these tests would stop it")
    server = RabbitServer(tmp_path_factory.mktemp("rabbitmq"))
    _certificate(server.folder)
    with (server.folder / "rabbitmq.conf").open("a") as settings:
        settings.write(
            f"listeners.ssl.1 = 127.0.0.1:{free_port()}\n"
            f"ssl_options.cacertfile = {server.folder}/certificate.pem\n"
            f"ssl_options.certfile = {server.folder}/certificate.pem\n"
            f"ssl_options.keyfile = {server.folder}/key.pem\n"
            "ssl_options.verify = verify_none\n"
        )
    try:
        server.start()
        yield server
    finally:
        server.dispose()


def _certificate(folder: Path) -> None:
    made_by = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([*made_by.split(), *files], check=True, capture_output=True)


def _tls_url(server: RabbitServer) -> str:
    settings = (server.folder / "rabbitmq.conf").read_text()
    return f"amqps://guest:guest@localhost:{settings.partition('listeners.ssl.1 = 127.0.0.1:')[2].split()[0]}/"


def _control(server: RabbitServer, *arguments: str) -> None:
    command = ["/usr/lib/rabbitmq/bin/rabbitmqctl", *arguments]
    subprocess.run(command, env=server._environment(), check=True, capture_output=True, timeout=60)


@pytest.fixture
def queue() -> str:
    return f"t{uuid4().hex[:12]}.stage"


@pytest.fixture
async def rabbit(server) -> AsyncIterator[RabbitTransport]:
    server.ensure_running()
    transport = made(server.url, f"t{uuid4().hex[:12]}")
    await transport.open()
    yield transport
    server.thaw()
    await transport.close()


async def _published(rabbit: RabbitTransport, batch: list[Outgoing], *, within_seconds: float = 60) -> None:
    async with asyncio.timeout(within_seconds):
        while True:
            try:
                return await rabbit.publish(batch)
            except BrokerAway:
                await asyncio.sleep(0.1)


async def test_tls_works_where_the_certificate_is_known_and_is_refused_where_not(server, queue, monkeypatch):
    unknown = made(_tls_url(server), "tls")
    with pytest.raises(BrokerRefused, match=r"certificate verify failed.*SSL_CERT_FILE"):
        await unknown.open()
    await unknown.close()
    monkeypatch.setenv("SSL_CERT_FILE", str(server.folder / "certificate.pem"))
    rabbit = made(_tls_url(server), "tls")
    await rabbit.open()
    await rabbit.publish([Outgoing(queue, 1, b"x" * 200_000), Outgoing(queue, 1, b"sealed")])
    receiving = await consumer(rabbit, queue)
    assert [len(message.raw) for message in await received(receiving, 2)] == [200_000, 6]
    await rabbit.close()


async def test_tls_at_a_port_without_it_is_a_clear_answer(server):
    rabbit = made(server.url.replace("amqp://", "amqps://"), "tls")
    with pytest.raises((BrokerRefused, BrokerAway)) as caught:
        await rabbit.open()
    assert not isinstance(caught.value, ssl.SSLError)
    await rabbit.close()


async def test_a_broker_with_an_alarm_is_away_for_publishers_and_consumers_go_on(server, rabbit, queue, monkeypatch):
    # An alarm is noticed long before a batch counts as lost.
    monkeypatch.setattr(rabbitmq_publisher, "CONFIRM_SECONDS", 3600.0)
    await rabbit.publish([Outgoing(queue, 1, b"before")])
    receiving = await consumer(rabbit, queue)
    (before,) = await received(receiving, 1)
    await asyncio.to_thread(_control, server, "set_vm_memory_high_watermark", "absolute", "1MB")
    try:
        for _ in range(2):
            with pytest.raises(BrokerAway, match="takes no messages now"):
                await rabbit.publish([Outgoing(queue, 1, b"during")])
        await receiving.acknowledge([before])
        assert await rabbit.depth(queue) == 0
    finally:
        await asyncio.to_thread(_control, server, "set_vm_memory_high_watermark", "absolute", "600MB")
    await _published(rabbit, [Outgoing(queue, 0, b"after")])
    # What was sent during the alarm was in doubt, and comes as well.
    got: list[str] = []
    while "after" not in got:
        got += texts(await received(receiving, 1))


async def test_a_frozen_broker_is_noticed_and_used_again_when_it_goes_on(server, rabbit, queue):
    await rabbit.publish([Outgoing(queue, 1, b"before")])
    receiving = await consumer(rabbit, queue)
    await receiving.acknowledge(await received(receiving, 1))
    server.freeze()
    with pytest.raises(BrokerAway, match="heartbeat"):
        await receiving.receive(1, 3600)
    with pytest.raises(BrokerAway):
        await rabbit.publish([Outgoing(queue, 1, b"during")])
    server.thaw()
    await _published(rabbit, [Outgoing(queue, 0, b"after")])
    async with asyncio.timeout(60):
        got: list[str] = []
        while "after" not in got:
            try:
                got += texts(await receiving.receive(10, 1))
            except BrokerAway:
                await asyncio.sleep(0.1)


async def test_a_broker_that_was_started_anew_has_its_messages_and_its_consumers(server, rabbit, queue):
    await rabbit.publish([Outgoing(queue, 1, b"%d" % number) for number in range(100)])
    receiving = await consumer(rabbit, queue)
    old = await received(receiving, 10)
    await asyncio.to_thread(server.restart)
    await receiving.acknowledge(old)  # of a connection that is gone
    got: set[str] = set()
    async with asyncio.timeout(60):
        while len(got) < 100:
            try:
                messages = await receiving.receive(100, 1)
            except BrokerAway:
                await asyncio.sleep(0.1)
                continue
            await receiving.acknowledge(messages)
            got |= set(texts(messages))
    assert receiving.lost_count == 0


async def test_a_server_that_says_nothing_is_a_broker_away(monkeypatch):
    monkeypatch.setattr(amqp_connection, "CONNECT_SECONDS", 0.3)
    silent = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    rabbit = made(f"amqp://127.0.0.1:{silent.sockets[0].getsockname()[1]}/", "x")
    with pytest.raises(BrokerAway, match=r"within 0\.3 s"):
        await rabbit.open()
    await stop_listening(silent)
    await rabbit.close()


async def test_a_call_without_an_answer_ends_the_connection(server, rabbit, queue, monkeypatch):
    monkeypatch.setattr(amqp_channel, "CALL_SECONDS", 0.5)
    server.freeze()
    with pytest.raises(BrokerAway, match=r"within 0\.5 s"):
        await rabbit.depth(queue)


async def test_what_the_broker_refuses_for_a_moment_is_sent_again(server, rabbit, queue, monkeypatch):
    """As a queue does that has no leader yet; here one that is full until somebody makes room."""
    full = '{"max-length":1,"overflow":"reject-publish"}'
    await asyncio.to_thread(_control, server, "set_policy", "full", queue.partition(".")[0], full)
    refused = asyncio.Event()

    async def noticed(publisher: Publisher, messages: list[Sent]) -> tuple[set[str], int]:
        answer = await send(publisher, messages)
        if answer[1]:
            refused.set()
        return answer

    send = Publisher._send
    monkeypatch.setattr(Publisher, "_send", noticed)
    try:
        with pytest.raises(BrokerAway, match="it did not store 1 of 1 messages"):
            for _ in range(10):
                await rabbit.publish([Outgoing(queue, 1, b"before")])
        refused.clear()
        sending = asyncio.create_task(rabbit.publish([Outgoing(queue, 1, b"last")]))
        await refused.wait()
        receiving = await consumer(rabbit, queue)
        await receiving.acknowledge(await received(receiving, 1))
        await sending
    finally:
        await asyncio.to_thread(_control, server, "clear_policy", "full")
    got: list[str] = []
    while "last" not in got:
        got += texts(await received(receiving, 1))
