"""Check settings before anything is started; shared by `serve` and `config show`."""

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path

from agentpost import extras
from agentpost.agents import registry
from agentpost.egress.addresses import AllowList, DenyList
from agentpost.egress.urls import WEBHOOK_PORTS
from agentpost.mail.actions import SmtpServer
from agentpost.processes.prefix import CommandPrefix
from agentpost.processes.scanner import parse_command
from agentpost.settings import PREFIX, Settings, unknown_variables
from agentpost.storage.s3_bucket import S3Location


def problems(settings: Settings) -> Iterator[str]:
    """The settings that `agentpost serve` would refuse, a sentence each. No secret is repeated,
    nothing is connected to and nothing is made."""
    for name, check in _CHECKS:
        try:
            if getattr(settings, name):
                check(settings)
        except (ValueError, OSError) as error:
            yield str(error)


def warnings(settings: Settings) -> Iterator[str]:
    """Settings that are allowed but probably a mistake, a sentence each."""
    names = [f"{PREFIX}{name}".upper() for name in Settings.model_fields]
    for name in unknown_variables():
        close = get_close_matches(name, names, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        yield f"there is no setting {name}{hint}"
    if settings.host in ("0.0.0.0", "::", "") and not settings.base_url:  # noqa: S104
        yield (
            f"links in answers lead to {settings.public_url}, which other machines cannot reach:"
            " set AGENTPOST_BASE_URL to the address that clients use"
        )

    if settings.egress_ports and not WEBHOOK_PORTS & set(settings.egress_ports):
        yield "AGENTPOST_EGRESS_PORTS has neither 443 nor 8443, so no webhook can be sent"


def _role(settings: Settings) -> None:
    if settings.role != "all" and not settings.database_url.get_secret_value():
        raise ValueError(
            f"AGENTPOST_ROLE={settings.role} needs an AGENTPOST_DATABASE_URL; SQLite has one"
            " process."
        )


def _database(settings: Settings) -> None:
    extras.require("postgres", extras.POSTGRES_ASKED)
    try:
        import psycopg
    except ImportError:
        return  # the library it calls is missing; the start says so
    try:
        psycopg.conninfo.conninfo_to_dict(settings.database_url.get_secret_value())
    except psycopg.ProgrammingError:
        # What the driver says of an address it cannot read repeats it, password included.
        raise ValueError("AGENTPOST_DATABASE_URL is not a URL that can be read") from None


def _storage(settings: Settings) -> None:
    S3Location.parse(settings.storage_url)
    extras.require("s3", extras.S3_ASKED)


def _sign_in(settings: Settings) -> None:
    if not settings.oidc_client_id:
        raise ValueError("AGENTPOST_OIDC_ISSUER needs an AGENTPOST_OIDC_CLIENT_ID")
    if settings.oidc_domains and not settings.oidc_account:
        raise ValueError("AGENTPOST_OIDC_DOMAINS needs an AGENTPOST_OIDC_ACCOUNT to take people in")
    extras.require("oidc", extras.OIDC_ASKED)


def _egress_ca_file(settings: Settings) -> None:
    try:
        Path(settings.egress_ca_file).read_bytes()
    except OSError as error:
        text = f"{settings.egress_ca_file}: {error.strerror or error}"
        raise OSError(f"AGENTPOST_EGRESS_CA_FILE: {text}") from None


def _agent_python(settings: Settings) -> None:
    if not settings.agent_processes:
        raise ValueError(
            "AGENTPOST_AGENT_PYTHON is for agent processes: set AGENTPOST_AGENT_PROCESSES to 1 or"
            " more"
        )
    if not registry.is_code(settings.agent):
        raise ValueError(
            f"AGENTPOST_AGENT_PYTHON is for an agent in Python, not for {settings.agent!r}"
        )
    # What a command prefix starts may see other files than this process.
    if not settings.worker_command_prefix and not os.access(settings.agent_python, os.X_OK):
        raise ValueError(
            f"AGENTPOST_AGENT_PYTHON: {settings.agent_python!r} cannot be run: set"
            " the path of an interpreter, such as /srv/agent/bin/python"
        )


def _agent(settings: Settings) -> None:
    if settings.agent == "offline" and not settings.agent_python:
        extras.require("offline", extras.OFFLINE_ASKED)


_CHECKS: tuple[tuple[str, Callable[[Settings], object]], ...] = (
    ("role", _role),
    ("database_url", _database),
    ("storage_url", _storage),
    ("smtp_url", lambda it: SmtpServer.parse(it.smtp_url.get_secret_value())),
    ("oidc_issuer", _sign_in),
    ("egress_allow", lambda it: AllowList.parse(it.egress_allow)),
    ("egress_deny", lambda it: DenyList.parse(it.egress_deny)),
    ("egress_ca_file", _egress_ca_file),
    ("scan_command", lambda it: parse_command(it.scan_command)),
    ("worker_command_prefix", lambda it: CommandPrefix.parse(it.worker_command_prefix)),
    ("agent_python", _agent_python),
    ("agent", _agent),
    ("redis_url", lambda _: extras.require("redis", extras.REDIS_ASKED)),
    ("otlp_endpoint", lambda _: extras.require("otel", extras.OTEL_ASKED)),
)
"""What checks a setting that is not empty."""
