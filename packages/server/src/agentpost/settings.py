"""The settings: validated once at the start, passed on, never imported as a global.

`defaults.toml` beside this file holds every default with its explanation. Order of precedence:
arguments, environment (``AGENTPOST_*``), the TOML file, the defaults.
"""

import json
import os
import shlex
import tomllib
from collections.abc import Callable
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from agentpost.users.address_rules import check_mail_address

DEFAULTS = Path(__file__).with_name("defaults.toml")
PREFIX = "AGENTPOST_"
CONFIG_ENV = f"{PREFIX}CONFIG"
NOT_OURS = frozenset({CONFIG_ENV, f"{PREFIX}URL", f"{PREFIX}KEY"})
"""Variables of that prefix which are no settings of the server."""
CONFIG_FILE = "agentpost.toml"


def _list_by(split: Callable[[str], list[str]]) -> BeforeValidator:
    """A list, written as JSON or in a form that ``split`` reads."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return json.loads(value) if value.strip().startswith("[") else split(value)

    return BeforeValidator(read)


_BY_COMMAS = _list_by(lambda text: [part.strip() for part in text.split(",") if part.strip()])


def _one_of(*schemes: str) -> AfterValidator:
    """A check for URLs of those schemes, or ""; what it says never repeats the URL, which may hold
    a password."""
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)

    def check(value: str | SecretStr) -> str | SecretStr:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if text and urlsplit(text).scheme not in schemes:
            raise ValueError(f"must be empty or begin with {wanted}")
        return value

    return AfterValidator(check)


def _has_host(url: str) -> str:
    """An address that links begin with: paths are added to it."""
    if not url:
        return url
    parts = urlsplit(url)
    port = parts.port  # raises ValueError for one that is no number from 0 to 65535
    if not parts.hostname or port == 0 or parts.query or parts.fragment or parts.username:
        raise ValueError("must be an address like https://agents.example.com, without ?, # and @")
    return url


def _networks(given: list[str]) -> list[str]:
    """Addresses and networks of addresses."""
    for each in given:
        ip_network(each, strict=False)  # raises ValueError
    return given


def _mail_address(address: str) -> str:
    return check_mail_address(address) if address else address


Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]
SecondsList = Annotated[list[Seconds], NoDecode, _BY_COMMAS, Field(min_length=1, max_length=100)]
TextList = Annotated[list[str], NoDecode, _BY_COMMAS]
PortList = Annotated[list[Annotated[int, Field(ge=1, le=65_535)]], NoDecode, _BY_COMMAS]
DoorNames = Annotated[list[Literal["mcp", "a2a", "openai"]], NoDecode, _BY_COMMAS]
WebUrl = Annotated[str, _one_of("http", "https"), AfterValidator(_has_host)]


class Settings(BaseSettings):
    """See `defaults.toml` for what each one means."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True
    )

    data_dir: str
    host: str
    port: Annotated[int, Field(ge=0, le=65_535)]
    base_url: WebUrl
    app_url: WebUrl
    file_url: WebUrl
    upload_url: WebUrl
    role: Literal["all", "api", "worker"]
    agent: str
    agent_secret: SecretStr
    agent_processes: Annotated[int, Field(ge=0)]
    agent_python: str
    agent_memory_bytes: Annotated[int, Field(ge=0)]
    agent_cpu_seconds: Annotated[float, Field(ge=0)]
    agent_stall_seconds: Seconds
    program_idle_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    llm_base_url: WebUrl
    llm_instructions: str
    llm_call_seconds: Seconds
    llm_retries: Annotated[int, Field(ge=0, le=20)]
    llm_context_tokens: Annotated[int, Field(ge=0)]
    llm_tools: TextList
    llm_mcp_file: str
    llm_input_credits: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    llm_output_credits: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    llm_price_file: str
    pool_workers: Annotated[int, Field(ge=0)]
    worker_memory_bytes: Annotated[int, Field(ge=0)]
    worker_env: TextList
    worker_command_prefix: Annotated[list[str], NoDecode, _list_by(shlex.split)]
    step_seconds: Seconds
    step_cpu_seconds: Seconds
    file_read_seconds: Seconds
    database_url: Annotated[SecretStr, _one_of("postgresql", "postgres")]
    redis_url: Annotated[SecretStr, _one_of("redis", "rediss", "unix")]
    storage_url: Annotated[str, _one_of("s3")]
    durability: Literal["full", "normal"]
    secret_key: SecretStr
    secret_keys_before: SecretStr
    key_prefix: Annotated[str, Field(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9_]+$")]
    bootstrap_api_key: SecretStr
    bootstrap_credits: Annotated[float, Field(ge=0)]
    bootstrap_email: Annotated[str, AfterValidator(_mail_address)]
    egress_allow: TextList
    egress_deny: TextList
    egress_ports: PortList
    egress_ca_file: str
    scan_command: str
    scan_seconds: Seconds
    scan_processes: Count
    scan_failure: Literal["refuse", "accept"]
    log_format: Literal["auto", "console", "json"]
    log_level: Literal["debug", "info", "warning", "error"]
    metrics_token: SecretStr
    otlp_endpoint: WebUrl
    otlp_share: Annotated[float, Field(ge=0, le=1)]
    conversation_required: bool
    running_jobs_max: Count
    requests_per_minute: Count
    messages_per_hour: Count
    messages_per_day: Count
    waits_per_hour: Count
    work_reads_per_hour: Count
    drain_seconds: Annotated[float, Field(ge=0)]
    step_grace_seconds: Annotated[float, Field(ge=0)]
    connections_max: Annotated[int, Field(ge=0)]
    connections_waiting_max: Count
    doors: DoorNames
    door_wait_seconds: Seconds
    streams_max: Count
    messages_arriving_max: Count
    body_bytes_max: Count
    body_idle_seconds: Seconds
    fetch_seconds: Seconds
    turn_reply_seconds: Seconds
    turn_limit_seconds: Seconds
    busy_wait_seconds: Seconds
    queue_wait_seconds: Seconds
    schedules_max: Count
    watch_seconds: Seconds
    code_changed_wait_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    message_retention_seconds: Seconds
    entry_retention_seconds: Seconds
    idempotency_seconds: Seconds
    request_log_seconds: Seconds
    operator_log_seconds: Seconds
    upload_post_seconds: Seconds
    upload_keep_seconds: Seconds
    upload_pending_bytes_max: Count
    stored_bytes_max: Annotated[int, Field(ge=0)]
    free_space_min_bytes: Annotated[int, Field(ge=0)]
    link_seconds: Seconds
    session_seconds: Seconds
    session_idle_seconds: Seconds
    trusted_proxies: Annotated[TextList, AfterValidator(_networks)]
    webhook_timeout_seconds: Seconds
    webhook_retry_seconds: SecondsList
    webhook_disable_seconds: Seconds
    oidc_issuer: WebUrl
    oidc_client_id: str
    oidc_client_secret: SecretStr
    oidc_name: str
    oidc_scopes: TextList
    oidc_email_claim: Annotated[str, Field(min_length=1)]
    oidc_verified_claim: str
    oidc_domains: TextList
    oidc_account: str
    smtp_url: SecretStr
    sweep_seconds: Seconds

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, environment, the operator's file, our defaults."""
        chosen = Path(os.environ.get(CONFIG_ENV) or CONFIG_FILE)
        file = [TomlConfigSettingsSource(settings_cls, toml_file=chosen)] if chosen.exists() else []
        return (init_settings, env_settings, *file, InitSettingsSource(settings_cls, _defaults()))

    @property
    def data_path(self) -> Path:
        """The data folder. Raises `ValueError` when it is below the home folder of a user who has
        none."""
        try:
            if self.data_dir:
                return Path(self.data_dir).expanduser().resolve()
            return user_data_path("agentpost", appauthor=False)
        except RuntimeError:
            raise ValueError(
                "this user has no home folder: name a data folder with AGENTPOST_DATA_DIR or"
                " --data-dir"
            ) from None

    @property
    def postgres_url(self) -> str:
        """``database_url``, or "" without one. libpq connects to a server that takes writes only,
        unless the URL says which servers it may be (``target_session_attrs``)."""
        url = self.database_url.get_secret_value()
        if not url or "target_session_attrs=" in url:
            return url
        _, _, rest = url.partition("://")
        user = rest.partition("/")[0].find("@") + 1  # what stands before may have a "?"
        return f"{url}{'&' if '?' in rest[user:] else '?'}target_session_attrs=read-write"

    @property
    def public_url(self) -> str:
        """`{base_url}` of the spec, without a trailing slash."""
        host = "localhost" if self.host in ("0.0.0.0", "::", "") else self.host  # noqa: S104
        host = f"[{host}]" if ":" in host else host
        return (self.base_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def public_app_url(self) -> str:
        """`{app_url}` of the spec."""
        return (self.app_url or self.public_url).rstrip("/")

    @property
    def public_file_url(self) -> str:
        """`{file_url}` of the spec."""
        return (self.file_url or self.public_url).rstrip("/")

    @property
    def public_upload_url(self) -> str:
        """`{upload_url}` of the spec, when this server itself takes the files."""
        return (self.upload_url or self.public_url).rstrip("/")


_BY_PREFIX = "worker_command_prefix has taken its place (docs/step-user.md)"
_REPLACED: Final = {
    name: f"there is no setting {name} any more: {_BY_PREFIX}"
    for name in ("step_user", "step_command", "step_folder")
}


@cache
def _defaults() -> dict[str, Any]:
    """Of every setting; the file is part of the program and read once."""
    return tomllib.loads(DEFAULTS.read_text("utf-8"))


def unknown_variables() -> list[str]:
    """Names in the environment that look like settings and are none: mistyped, or of a later
    version."""
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields} | NOT_OURS
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)


def _check_names(file: Path) -> None:
    """Raise `ValueError` for an operator's file that is no TOML or names what is no setting, and
    for settings that another one has replaced: without it, steps would not be kept apart."""
    for name in sorted(_REPLACED):
        if os.environ.get(f"{PREFIX}{name}".upper()):
            raise ValueError(f"{PREFIX}{name.upper()}: {_REPLACED[name]}")
    if file.exists():
        try:
            values = tomllib.loads(file.read_text("utf-8"))
        except ValueError as error:  # both of TOML and of UTF-8
            raise ValueError(f"{file}: {error}") from None
        for name in sorted(values.keys() - Settings.model_fields.keys()):
            raise ValueError(f"{file}: {_REPLACED.get(name, f'there is no setting {name}')}")


def load_settings(**overrides: Any) -> Settings:
    """Read the settings; raises `pydantic.ValidationError` naming what is wrong, `ValueError` for a
    file with names that are none."""
    chosen = os.environ.get(CONFIG_ENV)
    if chosen and not Path(chosen).exists():
        raise FileNotFoundError(f"{CONFIG_ENV} names {chosen}, which does not exist")
    _check_names(Path(chosen or CONFIG_FILE))
    settings: Settings = Settings(**overrides)
    return settings
