"""Where RabbitMQ is, taken apart from its URL, and shown without the password."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from penstock.errors import InvalidSetting, UsageError

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
