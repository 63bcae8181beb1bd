"""Settings of the brokers that may stand beside PostgreSQL: which stages use them, and where they are."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

TRANSPORTS = ("postgres", "redis", "rabbitmq")
_PREFIX = "PENSTOCK_"

_EXAMPLES = {
    "redis": "redis://:password@127.0.0.1:6379/0",
    "rabbitmq": "amqp://user:password@127.0.0.1:5672/",
}


class BrokerSettings(BaseSettings):
    transport: Literal["postgres", "redis", "rabbitmq"] = Field(
        "postgres", description="How workers learn what to claim, unless PENSTOCK_TRANSPORTS says so for a stage."
    )
    transports: Annotated[Mapping[str, str], NoDecode] = Field(
        {}, description="Transport per stage: pipeline=redis or pipeline/stage=rabbitmq, separated by commas."
    )
    redis_url: SecretStr | None = Field(
        None, description="Redis 6.2+ for the transport redis and the limiter: redis://user:password@host:6379/0."
    )
    rabbitmq_url: SecretStr | None = Field(
        None, description="RabbitMQ 3.10+ for the transport rabbitmq: amqp://user:password@host:5672/vhost."
    )
    broker_prefix: str = Field(
        "penstock",
        min_length=1,
        max_length=50,
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="What names in brokers begin with: another one for each installation that shares a broker.",
    )
    broker_prefetch: int = Field(
        500, ge=1, le=10_000, description="Messages that a runner may hold per stage before it claims their tasks."
    )
    relay_batch: int = Field(1000, ge=1, le=10_000, description="Messages sent to a broker in one go.")
    relay_ahead: int = Field(
        10_000,
        ge=100,
        le=1_000_000,
        description="Most messages of a stage that wait in a broker before more are sent. Fewer while workers take few:"
        " as many as they take in half a second, because another lane's task stands behind them.",
    )
    resend_seconds: float = Field(
        60.0, gt=0, le=86_400, description="A task that was sent to a broker and not claimed for so long is sent again."
    )
    resend_every_seconds: float = Field(15.0, gt=0, le=3600, description="Time between looks for such tasks.")
    broker_patience_seconds: float = Field(
        10.0,
        ge=0,
        le=86_400,
        description="A stage that heard nothing from its broker for so long is claimed from PostgreSQL instead.",
    )
    limiter: Literal["auto", "postgres", "redis"] = Field(
        "auto", description="Where limits are counted. auto: in Redis where PENSTOCK_REDIS_URL is set."
    )

    @field_validator("redis_url", "rabbitmq_url")
    @classmethod
    def _is_a_broker_url(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """The value is never repeated: it may hold a password."""
        schemes = {"redis_url": ("redis", "rediss", "unix"), "rabbitmq_url": ("amqp", "amqps")}[info.field_name or ""]
        if value is not None and value.get_secret_value().partition("://")[0].lower() not in schemes:
            raise ValueError(f"it does not begin with {' or '.join(f'{one}://' for one in schemes)}")
        return value

    @field_validator("transports", mode="before")
    @classmethod
    def _are_transports(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [one.strip().partition("=") for one in value.split(",") if one.strip()]
        chosen = {name.strip(): transport.strip() for name, _, transport in pairs}
        if any(not name or transport not in TRANSPORTS for name, transport in chosen.items()):
            raise ValueError("no list of stages with their transport")
        return chosen

    @model_validator(mode="after")
    def _brokers_have_addresses(self) -> Self:
        for broker in sorted(self.brokers):
            if getattr(self, f"{broker}_url") is None:
                raise ValueError(f"The transport {broker} was chosen, and {_where(broker)}")
        if self.limiter == "redis" and self.redis_url is None:
            raise ValueError(f"{_PREFIX}LIMITER is redis, and {_where('redis')}")
        return self

    def transport_of(self, pipeline: str, stage: str) -> str:
        """The nearest word wins: the stage's, its pipeline's, everybody's."""
        return self.transports.get(f"{pipeline}/{stage}") or self.transports.get(pipeline) or self.transport

    @property
    def brokers(self) -> frozenset[str]:
        """The brokers that some stage is to use."""
        return frozenset({self.transport, *self.transports.values()} - {"postgres"})


def _where(broker: str) -> str:
    return f"{_PREFIX}{broker.upper()}_URL does not say where it is (for example {_EXAMPLES[broker]})"
