"""Where RabbitMQ is, a connection to it on a plain asyncio protocol (handshake, heartbeats, channels), and the link
that makes the next one when that is lost."""

import asyncio
import os
import random
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import unquote, urlsplit

from pamqp import base, commands, frame

from penstock.brokers.rabbitmq.channel import Channel, ClosedByServer
from penstock.brokers.rabbitmq.frames import HEARTBEAT_FRAME, BadFrame, Content, FrameReader
from penstock.brokers.transport import BrokerAway, BrokerRefused
from penstock.errors import InvalidSetting, UsageError
from penstock.version import VERSION

_VARIABLE = "PENSTOCK_RABBITMQ_URL"
_PORTS = {"amqp": 5672, "amqps": 5671}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str
    port: int
    vhost: str
    user: str
    tls: bool
    password: str = field(repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        vhost = "" if self.vhost == "/" else self.vhost
        return f"{'amqps' if self.tls else 'amqp'}://{host}:{self.port}/{vhost}"


def address_of(url: str | None) -> Address:
    """Without a user RabbitMQ's own ``guest``; without a virtual host ``/``."""
    if url is None:
        raise UsageError(f"RabbitMQ is to be used, and {_VARIABLE} does not say where it is. Set it.")
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise InvalidSetting(_VARIABLE, f"{scheme}://…", "it has to begin with amqp:// or amqps://")
    try:
        port = parts.port or _PORTS[scheme]
    except ValueError:
        raise InvalidSetting(_VARIABLE, f"{scheme}://…", "its port is no number from 1 to 65535") from None
    return Address(
        host=parts.hostname or "localhost",
        port=port,
        vhost=unquote(parts.path[1:]) or "/",
        user=unquote(parts.username) if parts.username else "guest",
        password=unquote(parts.password) if parts.password else ("" if parts.username else "guest"),
        tls=scheme == "amqps",
    )


NAME = "rabbitmq"
CONNECT_SECONDS = 5.0
DRAIN_SECONDS = 10.0
HEARTBEAT_SECONDS = 5
_CLOSE_SECONDS = 2.0
_TICK_SECONDS = HEARTBEAT_SECONDS / 2
_SILENT_TICKS = 4
_FRAME_MAX = 131_072
_CAPABILITIES = {
    "publisher_confirms": True,
    "consumer_cancel_notify": True,
    "basic.nack": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}


class Connection(asyncio.Protocol):
    """Open until ``problem`` is set. Never comes back: ``Link`` makes the next one."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.problem: Exception | None = None
        self.frame_max = _FRAME_MAX
        self.server_version: tuple[int, ...] = ()
        self.blocked_because: str | None = None
        """The broker has an alarm of memory or disk, and reads nothing from connections that publish."""
        self._channels: dict[int, Channel] = {}
        self._reader = FrameReader(method=self._method, content=self._content, confirm=self._confirm)
        self._transport: asyncio.Transport | None = None
        self._numbers = 0
        self._free_numbers: list[int] = []
        self._silent_ticks = 0
        self._wrote = False
        self._timer: asyncio.TimerHandle | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._gone = asyncio.Event()
        self._gone.set()

    @classmethod
    async def opened(cls, address: Address, name: str) -> "Connection":
        """Raises ``BrokerAway`` or ``BrokerRefused``. ``name`` is what operators see in RabbitMQ's list."""
        connection = cls(address)
        tls = ssl.create_default_context() if address.tls else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                loop = asyncio.get_running_loop()
                await loop.create_connection(lambda: connection, address.host, address.port, ssl=tls)
                await connection._handshake(name)
        except BaseException as error:
            connection.lose("the handshake failed")
            await connection._gone.wait()
            if isinstance(error, ssl.SSLError):
                raise _no_tls(address, error) from None
            if isinstance(error, TimeoutError):
                raise connection.away(f"no answer came within {CONNECT_SECONDS:g} s") from None
            if isinstance(error, OSError):
                raise connection.away(_said(error)) from None
            if isinstance(error, ClosedByServer):
                raise refusal(address, error) from None
            raise
        return connection

    async def _handshake(self, name: str) -> None:
        address = self.address
        zero = self._channels[0] = Channel(self, 0)
        start = await zero.next(commands.Connection.Start, after=b"AMQP\x00\x00\x09\x01")
        self.server_version = _version(start.server_properties.get("version"))
        answer = commands.Connection.StartOk(
            client_properties={
                "product": "penstock",
                "version": VERSION,
                "connection_name": name,
                "capabilities": dict(_CAPABILITIES),
            },
            response=f"\0{address.user}\0{address.password}",
        )
        tune = await zero.next(commands.Connection.Tune, after=frame.marshal(answer, 0))
        self.frame_max = self._reader.frame_max = min(tune.frame_max or _FRAME_MAX, _FRAME_MAX)
        beat = min(tune.heartbeat or HEARTBEAT_SECONDS, HEARTBEAT_SECONDS)
        tuned = commands.Connection.TuneOk(channel_max=tune.channel_max, frame_max=self.frame_max, heartbeat=beat)
        vhost = frame.marshal(commands.Connection.Open(virtual_host=address.vhost), 0)
        await zero.next(commands.Connection.OpenOk, after=frame.marshal(tuned, 0) + vhost)
        self._timer = asyncio.get_running_loop().call_later(_TICK_SECONDS, self._tick)

    async def channel(self) -> Channel:
        if self.problem is not None:
            raise self.problem.with_traceback(None)
        if self._free_numbers:
            number = self._free_numbers.pop()
        else:
            self._numbers += 1
            number = self._numbers
        channel = self._channels[number] = Channel(self, number)
        try:
            await channel.call(commands.Channel.Open(), commands.Channel.OpenOk)
        except BaseException:
            channel.abandon()
            raise
        return channel

    async def close(self) -> None:
        if self.problem is None:
            question = commands.Connection.Close(reply_code=200, reply_text="done", class_id=0, method_id=0)
            with suppress(TimeoutError, BrokerAway, ClosedByServer):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._channels[0].call(question, commands.Connection.CloseOk)
        self.lose("it was closed here")
        await self._gone.wait()

    async def drain(self) -> None:
        """Waits while the broker takes less than is sent."""
        if self._may_write.is_set():
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._may_write.wait()
        except TimeoutError:
            self.lose(self.blocked_because or f"it took nothing for {DRAIN_SECONDS:g} s")
        if self.problem is not None:
            raise self.problem.with_traceback(None)

    def away(self, cause: str) -> BrokerAway:
        return BrokerAway(transport=NAME, address=str(self.address), cause=cause)

    # ---- for channels

    def write(self, data: bytes) -> None:
        if self._transport is not None and self.problem is None:
            self._wrote = True
            self._transport.write(data)

    def forget(self, channel: Channel) -> None:
        if self._channels.get(channel.number) is channel:
            del self._channels[channel.number]
            self._free_numbers.append(channel.number)

    def lose(self, cause: str) -> None:
        self._fail(self.away(cause))

    # ---- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._gone.clear()
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own is no subclass
        self._transport.set_write_buffer_limits(high=1024 * 1024)

    def data_received(self, data: bytes) -> None:
        self._silent_ticks = 0
        try:
            self._reader.feed(data)
        except BadFrame as error:
            self.lose(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        self.lose(str(error) if error is not None else "it closed the connection")
        self._gone.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def _tick(self) -> None:
        """Counts ticks and not seconds: a process that was busy or frozen itself does not blame the broker."""
        self._silent_ticks += 1
        if self._silent_ticks > _SILENT_TICKS:
            self.lose(f"no heartbeat came for {_SILENT_TICKS * _TICK_SECONDS:g} s")
            return
        if not self._wrote:
            self.write(HEARTBEAT_FRAME)
        self._wrote = False
        self._timer = asyncio.get_running_loop().call_later(_TICK_SECONDS, self._tick)

    def _fail(self, problem: Exception) -> None:
        if self.problem is not None:
            return
        self.problem = problem
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self._may_write.set()
        for channel in list(self._channels.values()):
            channel.fail(problem)
        self._channels.clear()

    # ---- called by the reader

    def _method(self, number: int, given: base.Frame) -> None:
        if isinstance(given, commands.Connection.Close):
            self.write(frame.marshal(commands.Connection.CloseOk(), 0))
            closed = ClosedByServer(given.reply_code, given.reply_text)
            # 320 is an operator or a shutdown; the others are said in the handshake, or are mistakes of ours.
            opening = self._timer is None
            self._fail(closed if opening else self.away(f"it closed the connection: {given.reply_text}"))
        elif isinstance(given, commands.Connection.Blocked):
            self.blocked_because = f"it takes no messages now ({given.reason})"
        elif isinstance(given, commands.Connection.Unblocked):
            self.blocked_because = None
        elif (channel := self._channels.get(number)) is not None:
            channel.method(given)

    def _content(self, number: int, content: Content) -> None:
        if (channel := self._channels.get(number)) is not None:
            channel.content(content)

    def _confirm(self, number: int, tag: int, multiple: bool, taken: bool) -> None:
        if (channel := self._channels.get(number)) is not None:
            channel.on_confirm(tag, multiple, taken)


def refusal(address: Address, closed: ClosedByServer) -> BrokerRefused | BrokerAway:
    """What the broker said with a code, as a sentence with a next step."""
    cause = closed.text.partition(" - ")[2] or closed.text
    if closed.code in (0, 320, 541):
        return BrokerAway(transport=NAME, address=str(address), cause=closed.text)
    return BrokerRefused(transport=NAME, address=str(address), cause=cause.rstrip("."), next_step=_next_step(closed))


def _next_step(closed: ClosedByServer) -> str:
    if closed.code == 403 and "Login was refused" in closed.text:
        return "Check user and password in PENSTOCK_RABBITMQ_URL."
    if closed.code == 403:
        return "Give the user the rights to configure, write and read the queues (rabbitmqctl set_permissions)."
    if closed.code == 530:
        return "Make the virtual host and give the user access to it, or name another one in PENSTOCK_RABBITMQ_URL."
    if closed.code == 406:
        return "One of that name is there and of another kind: delete it, or set another PENSTOCK_BROKER_PREFIX."
    return f"RabbitMQ's code is {closed.code}; its log says more."


def _no_tls(address: Address, error: ssl.SSLError) -> BrokerRefused:
    said = error.reason or str(error)
    return BrokerRefused(
        transport=NAME,
        address=str(address),
        cause=f"no TLS connection could be made ({said.replace('_', ' ').lower()})",
        next_step="Check the port, and that the server's certificate is known here (SSL_CERT_FILE) and names the host.",
    )


def _said(error: OSError) -> str:
    """The bare reason: asyncio's own text for a refused connection does not name it. Names have codes below zero."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


def _version(given: object) -> tuple[int, ...]:
    text = given if isinstance(given, str) else ""
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


_FIRST_SECONDS = 0.1
_LONGEST_SECONDS = 3.0


class Link:
    """Nothing runs in the background: whoever needs the connection waits for it, or learns at once that the last
    attempt failed a moment ago."""

    def __init__(self, address: Address, purpose: str) -> None:
        self.address = address
        self._purpose = purpose
        self._connection: Connection | None = None
        self._failed: BrokerAway | BrokerRefused | None = None
        self._pause_seconds = 0.0
        self._not_before = 0.0
        self._closed = False
        self._lock = asyncio.Lock()

    async def connection(self) -> Connection:
        """Raises ``BrokerAway`` or ``BrokerRefused``."""
        if (known := self._alive()) is not None:
            return known
        async with self._lock:
            if (known := self._alive()) is not None:
                return known
            if self._closed:
                raise BrokerAway(transport=NAME, address=str(self.address), cause="the connection was closed here")
            now = asyncio.get_running_loop().time
            if self._failed is not None and now() < self._not_before:
                raise self._failed.with_traceback(None)
            try:
                self._connection = await Connection.opened(self.address, self._purpose)
            except (BrokerAway, BrokerRefused) as error:
                self._failed = error
                self._pause_seconds = min(max(_FIRST_SECONDS, self._pause_seconds * 2), _LONGEST_SECONDS)
                self._not_before = now() + self._pause_seconds * random.uniform(0.7, 1.0)
                raise
            self._failed, self._pause_seconds = None, 0.0
            return self._connection

    async def close(self) -> None:
        self._closed = True
        if self._connection is not None:
            await self._connection.close()

    def _alive(self) -> Connection | None:
        return self._connection if self._connection is not None and self._connection.problem is None else None
