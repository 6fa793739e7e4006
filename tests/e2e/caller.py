"""A client for the tests that trusts nothing: every answer is held against `/openapi.json`."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import httpx2

from tests.e2e.agents import Script
from tests.e2e.contract import Contract
from tests.e2e.server import KEY, AgentServer
from tests.waiting import PATIENCE, eventually

Json = dict[str, Any]
FINAL_SECONDS = PATIENCE


class Caller:
    """Calls a server with one API key; ``key`` None sends none."""

    _contract: ClassVar[Contract | None] = None

    def __init__(self, server: AgentServer, key: str | None = KEY) -> None:
        self.server = server
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        # Longer than a machine that runs the tests may stand still.
        seconds = 5 * PATIENCE
        limits = httpx2.Limits(max_connections=100)
        self.http = httpx2.Client(
            base_url=server.url, headers=headers, timeout=seconds, limits=limits, trust_env=False
        )

    def close(self) -> None:
        self.http.close()

    @property
    def contract(self) -> Contract:
        """The description by the first server that a caller had to do with: all servers of a run
        are the same program, and to write it takes each of them a twentieth of a second."""
        if Caller._contract is None:
            Caller._contract = Contract(self.http.get("/openapi.json").json())
        return Caller._contract

    def call(self, method: str, path: str, **request: Any) -> httpx2.Response:
        """Any request; the answer has been held against the description."""
        answer = self.http.request(method, path, **request)
        assert answer.status_code < 500, answer.text
        self.contract.check(answer)
        return answer

    def refusal(self, status: int, code: str, method: str, path: str, **request: Any) -> Json:
        answer = self.call(method, path, **request)
        body: Json = answer.json()
        assert (answer.status_code, body["error"]) == (status, code), body
        return body

    # --- messages ---------------------------------------------------------------------------------
    def post(
        self,
        message: str | Script | None = None,
        key: str | None = None,
        wait: object = None,
        **fields: Any,
    ) -> httpx2.Response:
        """`POST /v1/messages`; a script is what the agent will do, ``key`` the idempotency key,
        ``wait`` how long the call is held at most."""
        body = dict(fields)
        if message is not None:
            body["message"] = message if isinstance(message, str) else json.dumps(message)
        headers = {"Idempotency-Key": key} if key is not None else {}
        query = {} if wait is None else {"wait": wait}
        return self.call("POST", "/v1/messages", json=body, headers=headers, params=query)

    def send(self, message: str | Script | None = None, **fields: Any) -> Json:
        """A message that is new; its first answer."""
        answer = self.post(message, **fields)
        assert answer.status_code == 201, answer.text
        body: Json = answer.json()
        return body

    def get(self, message_id: str, wait: int = 0) -> Json:
        """The message, held up to ``wait`` seconds."""
        answer = self.call("GET", f"/v1/messages/{message_id}?wait={wait}")
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    def final(self, message_id: str, seconds: float = FINAL_SECONDS) -> Json:
        """The message once it is final."""
        return self.until_message(message_id, seconds, final=True)

    def until_message(
        self, message_id: str, seconds: float = FINAL_SECONDS, **fields: object
    ) -> Json:
        """The message once those fields have those values."""

        def look() -> Json | None:
            message = self.get(message_id)
            return message if all(message.get(n) == v for n, v in fields.items()) else None

        return eventually(look, seconds, f"{fields} of {message_id}")

    def events(self, message_id: str, cursor: str | None = None, wait: int = 0) -> Json:
        query = f"&cursor={cursor}" if cursor is not None else ""
        answer = self.call("GET", f"/v1/messages/{message_id}/events?wait={wait}{query}")
        assert answer.status_code == 200, answer.text
        page: Json = answer.json()
        return page

    def log(self, message_id: str) -> list[Json]:
        """The log as far as it goes now; checks that its numbers have no gaps."""
        page = self.events(message_id)
        entries: list[Json] = page["data"]
        while page["has_more"]:
            page = self.events(message_id, page["cursor"])
            entries += page["data"]
        assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
        return entries

    # --- the rest ---------------------------------------------------------------------------------
    def work(self, work_id: str, from_char: int = 0) -> Json:
        """A work with a page of its text."""
        answer = self.call("GET", f"/v1/work/{work_id}?from_char={from_char}")
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    def credits(self) -> float:
        left: float = self.call("GET", "/v1/me").json()["credits"]
        return left


def kinds(entries: Sequence[Json]) -> list[str]:
    """The types of log entries, in order."""
    return [entry["type"] for entry in entries]
