"""Webhooks that the program itself sends on this machine: signed like the server's, with a secret
of the person's own that stays the same, to an address that only this machine need reach."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import typer

from agentpost.cli import private_files
from agentpost.cli.errors import NAME

if TYPE_CHECKING:
    from agentpost.cli.connection import Server
    from agentpost.record.events import EventName
    from agentpost.webhooks.event_shapes import EventShape

_SECRETS: Final = "webhook-secrets.json"
_DIGEST_CHARACTERS: Final = 16
_PORT: Final = re.compile(r"[0-9]{1,5}(?![^/?])")
_SECONDS: Final = 30.0
"""How long a receiver may take: longer than the server allows, for one with a debugger."""
_ANSWER_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt. ``is_away``: nothing listens there; ``answer``: the beginning of
    what a receiver said that did not take the event."""

    status_code: int | None
    ms: int
    error: str | None = None
    is_away: bool = False
    answer: str = ""

    @property
    def is_taken(self) -> bool:
        """Whether the receiver answered with 2xx, as a server judges it."""
        return self.error is None


class Forwarder:
    """Sends events to one address of this machine or another. Use it as a context."""

    def __init__(self, url: str, secret: str) -> None:
        import httpx2

        self.url = url
        self._secret = secret
        # The environment's proxies are no way to this machine.
        self._http = httpx2.Client(trust_env=False, timeout=_SECONDS)

    def __enter__(self) -> Forwarder:
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.close()

    def send(self, event: Mapping[str, Any]) -> Outcome:
        """Send an event as a reader of the account's events gets it."""
        from agentpost.clock import SystemClock
        from agentpost.domain.times import SECOND
        from agentpost.webhooks.event_shapes import webhook_body
        from agentpost.webhooks.signing import signed_headers

        body, data = webhook_body(event), event.get("data")
        trace = data.get("traceparent") if isinstance(data, dict) else None
        now = SystemClock().now() // SECOND
        return self._post(body, signed_headers([self._secret], event["id"], now, body, trace))

    def _post(self, body: bytes, headers: Mapping[str, str]) -> Outcome:
        import httpx2

        began = perf_counter()
        try:
            answer = self._http.post(self.url, content=body, headers=dict(headers))
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            return Outcome(None, _ms(began), f"{self.url} does not answer", is_away=True)
        except httpx2.TimeoutException:
            return Outcome(None, _ms(began), f"no answer within {_SECONDS:.0f} s")
        except httpx2.HTTPError as error:
            problem = str(error) or type(error).__name__
            return Outcome(None, _ms(began), f"the answer broke off: {problem}")
        ms = _ms(began)
        if answer.is_success:
            return Outcome(answer.status_code, ms)
        # As the server words it: redirects are not followed by it, so not here.
        note = " (redirects are not followed)" if answer.is_redirect else ""
        refusal = f"it answered with HTTP status {answer.status_code}{note}"
        beginning = " ".join(answer.text.split())[:_ANSWER_CHARACTERS]
        return Outcome(answer.status_code, ms, refusal, answer=beginning)


def _ms(began: float) -> int:
    return round((perf_counter() - began) * 1_000)


def checked_url(url: str) -> str:
    """An address to send to; ``localhost:3000/hooks``, ``3000/hooks`` and ``3000`` are completed.
    Raises `typer.BadParameter`."""
    address = url.strip()
    if _PORT.match(address):
        address = f"localhost:{address}"
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise typer.BadParameter(
            f"{url!r} is not an address such as http://localhost:3000/webhooks"
        )
    return address


def secret_of(server: Server) -> str:
    """The secret for the events of that server and key: created once, then always the same. Raises
    `OSError`."""
    from agentpost.webhooks.signing import new_secret

    path, name = private_files.config_folder() / _SECRETS, place_name(server)
    try:
        secrets = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        secrets = {}
    except ValueError:
        raise OSError(
            0, f"it is not JSON; delete it, and {NAME} creates another", str(path)
        ) from None
    if name not in secrets:
        secrets[name] = new_secret()
        private_files.write(path, json.dumps(secrets, indent=2) + "\n")
    return str(secrets[name])


def place_name(server: Server) -> str:
    """The name under which secrets and places are stored: the server's address and a digest of the
    key, however the two were given."""
    digest = hashlib.sha256(server.key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{server.url} {digest[:_DIGEST_CHARACTERS]}"


def sample(name: EventName, server: Server) -> dict[str, Any]:
    """A sample of an event, as a reader of the account's events would get it."""
    from agentpost.clock import SystemClock, new_id
    from agentpost.domain import ids
    from agentpost.events import sample_shapes

    now = SystemClock().now()
    shape: EventShape = sample_shapes.event(name, now, _Links(server.url))
    return {**json.loads(shape.json()), "id": new_id(ids.EVENT, now)}


@dataclass(frozen=True, slots=True)
class _Links:
    """Addresses that look like the server's and lead to nothing."""

    base: str

    def chat(self, work_id: str) -> str:
        return f"{self.base}/chat/{work_id}"

    def file(self, file_id: str, revision: str) -> str:
        return f"{self.base}/files/{file_id}"
