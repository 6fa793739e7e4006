"""Whether there is an agentpost server at an address, looked up before a key is sent there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agentpost.cli import exits
from agentpost.cli.errors import fail

if TYPE_CHECKING:
    from agentpost_client import AgentpostError

EXAMPLE: Final = "http://127.0.0.1:8080"
_NO_KEY: Final = "none"
"""Sent instead of a key. A server of this API refuses it in the API's own words."""
_RETRIES: Final = 1
_PRINTED: Final = "`agentpost serve` prints its address when it is ready"


def reach(address: str) -> str:
    """The address as it is kept, with its scheme; ends the command unless a server of this API
    answers there. Nobody's key is sent."""
    from agentpost.cli.connection import say_retry
    from agentpost_client import AgentpostError, ApiError, BadAnswer, Client, ConfigError
    from agentpost_client.config import resolve_config

    full = address if "://" in address else f"http://{address}"
    try:
        url = resolve_config(full, _NO_KEY, {}).url
    except ConfigError:
        text = "is not the address of a server: give http:// or https://, a host and a port"
        fail(f"{address!r} {text}, such as {EXAMPLE}", exits.USAGE)
    try:
        with Client(url, _NO_KEY, max_retries=_RETRIES, on_retry=say_retry) as client:
            client.me()
    except ApiError as error:
        if not error.code.startswith("http_") and error.code != "not_found":
            return url
        fail(_no_agentpost(url, f"it answered {error.status}"), exits.USAGE)
    except BadAnswer:
        fail(_no_agentpost(url, "its answer is not one of this API"), exits.USAGE)
    except AgentpostError as error:
        fail(_away(url, error), exits.NO_ANSWER)
    return url


def _away(url: str, error: AgentpostError) -> str:
    from agentpost_client import ConfigError, ConnectionFailed, RequestTimeout

    text = str(error).rstrip(".")
    if isinstance(error, ConfigError):
        return text  # a proxy of the environment
    if isinstance(error, RequestTimeout) or not isinstance(error, ConnectionFailed):
        return f"{text} → is the address right, and may this machine reach it?"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            f"{text} → the certificate is not trusted here: use the name it is made for, or set"
            " SSL_CERT_FILE to the file of the authority that signed it"
        )
    if url.startswith("https:") and "SSL" in text:
        return f"{text} → the server does not speak TLS there: try http{url.removeprefix('https')}"
    if url.startswith("http:") and "cannot connect" not in text:
        return f"{text} → does the server speak TLS there? Then try https{url.removeprefix('http')}"
    return f"{text} → is the server running? `agentpost serve` starts one and prints its address"


def _no_agentpost(url: str, what: str) -> str:
    parts = urlsplit(url)
    if parts.path:
        hint = f"without its path {parts.path}: {parts.scheme}://{parts.netloc}"
        return f"{url} is not the address of an agentpost server ({what}) → try it {hint}"
    return f"{url} is not an agentpost server ({what}) → check host and port; {_PRINTED}"
