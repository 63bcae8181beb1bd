"""Every setting, its default and its bounds. Read from the environment with the prefix ``PENSTOCK_``.

`penstock config show` lists them with their values and where each came from; ``docs/settings.md`` is generated
from the descriptions here.
"""

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from penstock.broker_settings import TRANSPORTS, BrokerSettings
from penstock.errors import InvalidDefinition, InvalidSetting, UsageError

PREFIX = "PENSTOCK_"
# Variables that are no settings of a deployment: faults on purpose, tests, benches, and what processes tell each other.
_OTHER_VARIABLES = frozenset({"FAILPOINTS", "FAILPOINTS_SEED", "HYPOTHESIS", "LEDGER", "PEERS", "SUPERVISOR_PID"})
_OTHER_PREFIXES = ("TEST_", "BENCH_", "INSTALL_")
# The first of each pair may not be above the second.
_PAIRS = (
    ("claim_min", "claim_max"),
    ("poll_min_seconds", "poll_max_seconds"),
    ("ingest_min_rows", "ingest_max_rows"),
    ("db_p50_ms", "db_p95_ms"),
    ("lock_floor_ms", "lock_cap_ms"),
)
_SCHEMES = ("postgresql", "postgres")
_URL_EXAMPLE = "write it as postgresql://user:password@host:5432/database"


class Settings(BrokerSettings):
    """Frozen, checked at construction, one field per setting of Penstock; what else is given is for extensions."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="allow", env_ignore_empty=True)
    _of: dict[type, Any] = PrivateAttr(default_factory=dict)

    # ---- where things are
    database_url: SecretStr | None = Field(
        None,
        description="PostgreSQL 15+ to use; several hosts with commas. Unset: the embedded server in PENSTOCK_HOME.",
    )
    home: Path | None = Field(
        None,
        description="Folder of the embedded server. Default: the user's data directory (/var/lib/penstock as root).",
    )
    app: str | None = Field(None, description="The application, as module:name. Also `--app`.")
    host: str = Field("127.0.0.1", description="Address the HTTP endpoint listens on.")
    port: int = Field(8080, ge=0, le=65535, description="Port of the HTTP endpoint; 0 takes a free one.")
    forwarded_allow_ips: str = Field(
        "",
        description="Addresses of proxies, separated by commas, whose X-Forwarded-For and -Proto count. None: empty.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="json, console, or auto: console on a terminal, json elsewhere."
    )

    # ---- the worker
    runners: int = Field(1, ge=1, le=64, description="Runner processes per supervisor.")
    pool_size: int = Field(
        10, ge=1, le=10_000, description="Processors per stage and runner, unless the stage says so."
    )
    inbox_size: int = Field(2000, ge=1, le=100_000, description="Claimed tasks that may wait per stage in a runner.")
    claim_min: int = Field(10, ge=1, le=1000, description="Smallest claim.")
    claim_max: int = Field(1000, ge=1, le=10_000, description="Largest claim.")
    worker_target_slice_ms: int = Field(
        5000, ge=1, le=3_600_000, description="A claim should hold about this much work per processor."
    )
    safety_factor: float = Field(0.7, gt=0, le=1, description="Share of the slice that a claim fills.")
    cpu_pressure: float = Field(
        0.9,
        gt=0,
        le=1,
        description="Claims shrink while processes wait for a CPU for more than this share of the time.",
    )
    memory_pressure: float = Field(
        0.9, gt=0, le=1, description="Claims shrink while more than this share of the memory is in use."
    )
    lock_floor_ms: int = Field(
        10_000, ge=100, le=3_600_000, description="Shortest expiry of a lock that is derived from the time items take."
    )
    lock_cap_ms: int = Field(30_000, ge=100, le=86_400_000, description="Longest expiry of such a lock.")
    heartbeat_seconds: float = Field(3.0, gt=0, le=60, description="Time between heartbeats.")
    lease_seconds: float = Field(10.0, gt=0, le=3600, description="A worker silent this long is dead.")
    poll_min_seconds: float = Field(0.05, gt=0, le=60, description="First pause after an empty claim.")
    poll_max_seconds: float = Field(1.0, gt=0, le=3600, description="Longest pause between claims of an idle worker.")
    grace_seconds: float = Field(
        10.0, ge=0, le=3600, description="SIGTERM: time running tasks get before they are handed back."
    )
    kill_grace_seconds: float = Field(
        5.0,
        ge=0,
        le=600,
        description="Past its deadline a handler gets this long to react before its process is killed.",
    )
    health_seconds: float = Field(30.0, gt=0, le=3600, description="Time between health reports.")

    # ---- pace
    profile: Literal["event", "paced"] = Field(
        "event", description="event: claim as soon as there is room. paced: the gentle polling below."
    )
    discovery_seconds: float = Field(60.0, gt=0, le=86_400, description="paced: time between claims.")
    coordination_seconds: float = Field(
        5.0, gt=0, le=3600, description="Time between assignments: paced, and for stages with a throttle."
    )
    assignments_per_cycle: int = Field(3, ge=1, le=10_000, description="paced: starts per stage and cycle.")
    paced_batch: int = Field(10, ge=1, le=10_000, description="paced: rows per claim and stage.")
    minimum_age_seconds: float = Field(
        30.0, ge=0, le=86_400, description="paced: rows that changed or became due more recently are left alone."
    )
    cleanup_seconds: float = Field(300.0, gt=0, le=86_400, description="paced: time between clean-ups.")

    # ---- policy
    timeout_seconds: float = Field(
        300.0, gt=0, le=30 * 86_400, description="Deadline of one run, unless the stage says so."
    )
    max_attempts_error: int = Field(
        3, ge=1, le=1000, description="Tries per stage of a task that fails, unless the stage or the task says so."
    )
    max_attempts_not_found: int = Field(
        3,
        ge=1,
        le=1000,
        description="Tries per stage of a task that finds nothing and asks to look again; at most all it has.",
    )
    crash_limit: int = Field(3, ge=1, le=100, description="Crashes of its process before a task is a dead letter.")
    rescue_limit: int = Field(
        10,
        ge=1,
        le=1000,
        description="Rescues from lost workers before a task becomes a dead letter; from half of them it runs alone.",
    )
    version_skew_days: float = Field(
        7.0,
        ge=0,
        le=36_500,
        description="How long a task whose arguments do not match its handler waits for another release; 0: never.",
    )
    max_result_bytes: int = Field(
        16 * 1024 * 1024, ge=1024, le=200 * 1024 * 1024, description="Largest result that is stored."
    )
    retention_days: float | None = Field(
        None,
        gt=0,
        le=36_500,
        description="Days that finished tasks are kept. Unset: tasks of jobs are kept forever, others for 30 days.",
    )

    # ---- taking in
    ingest_min_rows: int = Field(
        64, ge=1, le=100_000, description="Rows of the first and of the smallest batch stored."
    )
    ingest_max_rows: int = Field(20_000, ge=1, le=100_000, description="Rows of the largest batch stored.")
    ingest_max_batch_bytes: int = Field(
        8 * 1024 * 1024, ge=64 * 1024, le=256 * 1024 * 1024, description="Bytes of the largest batch stored."
    )
    db_p50_ms: int = Field(500, ge=1, le=60_000, description="Batches grow while storing one takes less than this.")
    db_p95_ms: int = Field(
        2000, ge=1, le=600_000, description="Batches shrink when the slow ones among the last take more than this."
    )
    max_upload_bytes: int = Field(
        2 * 1024**3, ge=1024, le=1024**4, description="Largest file that is taken in; a larger one is refused."
    )
    file_roots: Annotated[tuple[Path, ...], NoDecode] = Field(
        (),
        description="Folders that file references and folder sources may name, separated by commas. None: none.",
        json_schema_extra={"holds": "absolute folders"},
    )
    private_networks: bool = Field(
        False, description="Whether sources and providers may speak to private and loopback addresses."
    )

    sample_url: str | None = Field(
        None, description="Where the made-up shop and Wikidata of `penstock demo` are; `penstock up` sets it itself."
    )

    # ---- the service
    pending_page: bool = Field(True, description="Whether the list of open items over all jobs is served.")
    owner_max_jobs: int = Field(
        1000, ge=1, le=1_000_000, description="Unfinished jobs that one owner may have at once."
    )
    owner_max_items: int = Field(
        10_000_000, ge=1, le=1_000_000_000, description="Unfinished items that one owner may have at once."
    )

    # ---- the database link
    connect_timeout_seconds: float = Field(5.0, gt=0, le=300, description="Timeout for opening a connection, per host.")
    command_timeout_seconds: float = Field(
        30.0, gt=0, le=3600, description="A statement without an answer for so long has failed."
    )
    statement_cache: int = Field(
        100,
        ge=0,
        le=10_000,
        description="Prepared statements kept per connection; 0 for PgBouncer in transaction mode.",
    )
    listen: bool = Field(
        True, description="Be woken by NOTIFY; false for PgBouncer in transaction mode (polling only)."
    )

    @field_validator("database_url")
    @classmethod
    def _is_a_postgresql_url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and (problem := _url_problem(value.get_secret_value())) is not None:
            raise ValueError(problem)
        return value

    @field_validator("file_roots", mode="before")
    @classmethod
    def _are_absolute_folders(cls, value: object) -> object:
        """A relative root would mean another folder for every process that is started elsewhere."""
        given = value.split(",") if isinstance(value, str) else value
        if not isinstance(given, Iterable):
            raise ValueError("no list of folders")
        roots = tuple(Path(str(one).strip()) for one in given if str(one).strip())
        if any(not root.is_absolute() for root in roots):
            raise ValueError("a folder is not absolute")
        return roots

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError(
                f"PENSTOCK_LEASE_SECONDS = {self.lease_seconds:g} has to be at least twice PENSTOCK_HEARTBEAT_SECONDS"
                f" = {self.heartbeat_seconds:g}, or one lost heartbeat would end every lease"
            )
        for least, most in _PAIRS:
            if getattr(self, least) > getattr(self, most):
                raise ValueError(
                    f"{PREFIX}{least.upper()} = {getattr(self, least)} is above"
                    f" {PREFIX}{most.upper()} = {getattr(self, most)}"
                )
        return self

    @property
    def url(self) -> str | None:
        return None if self.database_url is None else self.database_url.get_secret_value()

    def of(self, kind: "type[Chosen]") -> "Chosen":
        """The settings of an extension: what was given for it beside these, and the environment."""
        if kind not in self._of:
            begins = _named(kind, "")
            given = {name: value for name, value in (self.model_extra or {}).items() if name.startswith(begins)}
            self._of[kind] = _checked(kind, {name.removeprefix(begins): value for name, value in given.items()})
        chosen: Chosen = self._of[kind]
        return chosen

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copied = super().model_copy(update=update, deep=deep)
        copied._of = {}
        return copied

    def handed_on(self) -> dict[str, Any]:
        """For a process of ours that is started with these settings, passwords included; it has a database of its own
        to be told of."""
        plain = self.model_dump(mode="json", exclude={"database_url", "app"})
        secrets = {name: value for name, value in self if isinstance(value, SecretStr) and name in plain}
        return plain | {name: value.get_secret_value() for name, value in secrets.items()}


class ExtensionSettings(BaseSettings):
    """What can be set for one extension. A class of its own gives ``env_prefix="PENSTOCK_<NAME>_"``."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        if not str(cls.model_config["env_prefix"]).startswith(PREFIX):
            raise InvalidDefinition(what=cls.__name__, problem=f"its env_prefix has to begin with {PREFIX}")
        for name in sorted(setting_fields([cls]).keys() & Settings.model_fields.keys()):
            raise InvalidDefinition(what=cls.__name__, problem=f"Penstock itself has a setting {name!r}")


Chosen = TypeVar("Chosen", bound=ExtensionSettings)
Made = TypeVar("Made", bound=BaseSettings)
Kind = type[BaseSettings]


def load(**overrides: Any) -> Settings:
    """Settings from the environment; an override of None counts as not given. Bad values become one sentence."""
    return _checked(Settings, {name: value for name, value in overrides.items() if value is not None})


def setting_fields(kinds: Iterable[Kind]) -> dict[str, tuple[Kind, str, FieldInfo]]:
    """The settings of all these classes, by the names they have in the environment and in `penstock config show`."""
    return {_named(kind, name): (kind, name, field) for kind in kinds for name, field in kind.model_fields.items()}


def _named(kind: Kind, name: str) -> str:
    return f"{kind.model_config['env_prefix']}{name}".removeprefix(PREFIX).lower()


def _checked(kind: "type[Made]", given: Mapping[str, Any]) -> "Made":
    try:
        return kind(**given)
    except ValidationError as error:
        first = error.errors()[0]
        said = str(first["msg"]).removeprefix("Value error, ")
        if not first["loc"]:
            raise UsageError(f"{said}.") from None
        name = str(first["loc"][0])
        variable, value = f"{PREFIX}{_named(kind, name).upper()}", first.get("input")
        if name.endswith("_url"):
            raise InvalidSetting(variable, _without_login(str(value)), said) from None
        raise InvalidSetting(variable, value, f"it has to be {allowed(kind.model_fields[name])}") from None


def allowed(field: FieldInfo) -> str:
    """What a setting may be, in words: for the sentence about a value that will not do."""
    kind = field.annotation
    if get_origin(kind) is Literal:
        *most, last = (str(one) for one in get_args(kind))
        return f"{', '.join(most)} or {last}"
    if kind is bool:
        return "true or false"
    if get_origin(kind) is tuple:
        holds = field.json_schema_extra["holds"] if isinstance(field.json_schema_extra, dict) else "values"
        return f"{holds}, separated by commas"
    if get_origin(kind) is Mapping:
        return f"stages with their transport ({', '.join(TRANSPORTS)}), such as imports=redis, separated by commas"
    if kind not in (int, float):
        return "text"
    bounds = {key: getattr(one, key) for one in field.metadata for key in ("gt", "ge", "lt", "le") if hasattr(one, key)}
    noun = "a whole number" if kind is int else "a number"
    if "gt" in bounds:
        return f"{noun} above {bounds['gt']} and at most {bounds['le']}"
    return f"{noun} from {bounds['ge']} to {bounds['le']}"


def _url_problem(url: str) -> str | None:
    """What asyncpg would say later and less clearly, or None."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return f"it does not begin with postgresql://; {_URL_EXAMPLE}"
    if scheme.lower() not in _SCHEMES:
        return f"it begins with {scheme}://, and only PostgreSQL will do; {_URL_EXAMPLE}"
    authority = rest.partition("/")[0].partition("?")[0].partition("#")[0]
    for host in authority.rpartition("@")[2].split(","):
        port = host.rpartition("]")[2].partition(":")[2]
        if port and not (port.isdecimal() and int(port) <= 65535):
            if "@" in rest and "@" not in authority:  # what looks like a port is the beginning of the password
                return f"escape /, ? and # in the password as %2F, %3F and %23; {_URL_EXAMPLE}"
            return f"{port!r} is no port; {_URL_EXAMPLE}"
    return None


def _without_login(url: str) -> str:
    """Rather too little than a password: what stands before the host and behind the database is left out."""
    before, at, place = url.partition("?")[0].rpartition("@")
    return f"{before.partition('://')[0] + '://' if '://' in before else ''}***@{place}" if at else place


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownVariable:
    """A variable with our prefix that means nothing: most often a typing mistake."""

    name: str
    nearest: str | None

    @property
    def sentence(self) -> str:
        return f"{self.name} is set, and there is no such setting"

    @property
    def next_step(self) -> str:
        if self.nearest is not None:
            return f"Did you mean {self.nearest}? Unset {self.name} or rename it."
        return f"Unset it, or see `penstock config show` for the names. Only Penstock's own begin with {PREFIX}."


def unknown_variables(
    environment: Mapping[str, str] = os.environ, further: Iterable[str] = ()
) -> list[UnknownVariable]:
    """Names are compared as the settings are read: upper and lower case are the same. ``further``: settings of
    extensions."""
    names = [name.upper() for name in (*Settings.model_fields, *further)]
    found = []
    for variable in sorted(environment):
        name = variable.upper().removeprefix(PREFIX)
        if name == variable.upper() or name in names or name in _OTHER_VARIABLES or name.startswith(_OTHER_PREFIXES):
            continue
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
        found.append(UnknownVariable(name=variable, nearest=f"{PREFIX}{near[0]}" if near else None))
    return found


def origin(name: str, overrides: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> str:
    """Where a setting's value came from, for `penstock config show`."""
    if overrides.get(name) is not None:
        return "command line"
    variable = f"{PREFIX}{name.upper()}"
    known = {key.upper() for key, value in environment.items() if value}
    return f"environment {variable}" if variable in known else "default"
