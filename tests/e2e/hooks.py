"""Short ways to webhook endpoints and their deliveries."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.receivers import ReceiverMaker, receiving
from tests.waiting import eventually


class Hooks:
    """The webhook operations of one caller."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def create(self, url: str, **body: Any) -> Json:
        return self._json("POST", "", json={"url": url, **body})

    def post(self, path: str, **request: Any) -> Json:
        return self._json("POST", f"/{path}", **request)

    def change(self, endpoint: Json, **body: Any) -> Json:
        return self._json("PATCH", f"/{endpoint['id']}", json=body)

    def deliveries(self, endpoint: Json) -> list[Json]:
        """The newest, newest first."""
        found: list[Json] = self._json("GET", f"/{endpoint['id']}")["recent_deliveries"]
        return found

    def settled(self, endpoint: Json, status: str, **fields: object) -> Json:
        """The newest delivery, once it has that status and those fields."""

        def look() -> Json | None:
            newest = self.deliveries(endpoint)[0]
            wanted = {"status": status, **fields}
            return newest if all(newest[n] == v for n, v in wanted.items()) else None

        return eventually(look, what=f"a delivery {status} {fields}")

    def _json(self, method: str, path: str, **request: Any) -> Json:
        answer: httpx2.Response = self.caller.call(method, f"/v1/webhooks{path}", **request)
        assert answer.status_code in (200, 201), answer.text
        body: Json = answer.json()
        return body


@pytest.fixture
def receivers() -> Iterator[ReceiverMaker]:
    """`receivers(status)` starts one for the test."""
    with ExitStack() as running:
        yield lambda status=200: running.enter_context(receiving(status))


@pytest.fixture
def hooks(caller: Caller) -> Iterator[Hooks]:
    """The account's endpoints; none is left behind."""
    made = Hooks(caller)
    yield made
    for endpoint in caller.call("GET", "/v1/webhooks").json()["data"]:
        caller.call("DELETE", f"/v1/webhooks/{endpoint['id']}")
