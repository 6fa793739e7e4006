"""`GET /metrics` of a real server (docs/metrics.md)."""

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.raw import head, raw
from tests.e2e.server import AgentServer

TOKEN = "größer-than-ascii"
BYTES = TOKEN.encode().decode("latin-1")
SETTINGS = {"metrics_token": TOKEN}


def scrape(server: AgentServer) -> str:
    headers = {b"Authorization": f"Bearer {TOKEN}".encode()}
    answer = httpx2.get(f"{server.url}/metrics", headers=headers, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    return answer.text


def test_what_was_done_is_measured(server: AgentServer, caller: Caller) -> None:
    message = caller.send("hello")
    caller.call("GET", f"/v1/messages/{message['id']}")
    caller.call("GET", "/nowhere")
    lines = scrape(server).splitlines()
    route = 'route="/v1/messages/{message_id}"'
    assert f'agentpost_http_requests_total{{method="GET",{route},status="200"}} 1.0' in lines
    posted = 'method="POST",route="/v1/messages",status="201"'
    assert f"agentpost_http_requests_total{{{posted}}} 1.0" in lines
    assert 'agentpost_http_requests_total{method="GET",route="other",status="404"} 1.0' in lines
    assert f'agentpost_http_request_seconds_count{{method="GET",{route}}} 1.0' in lines
    assert 'agentpost_turns{state="running"} 0.0' in lines
    assert 'agentpost_part_works{part="database"} 1.0' in lines
    assert "agentpost_ready 1.0" in lines
    assert any(line.startswith('agentpost_task_runs_total{task="purge"}') for line in lines)
    assert not [line for line in lines if message["id"] in line]


@pytest.mark.parametrize(
    "header",
    [
        "X: none",
        "Authorization: Bearer",
        "Authorization: Bearer svc_key_test",
        f"Authorization: Basic {BYTES}",
        f"Authorization: Bearer {BYTES}x",
        "Authorization: Bearer \xff\xfe",
    ],
)
def test_it_wants_its_token(server: AgentServer, header: str) -> None:
    answer = raw(server, head("GET", "/metrics", header))
    assert (answer.status, answer.body["error"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_without_a_token_there_is_no_such_address(plain_server: AgentServer) -> None:
    answer = raw(plain_server, head("GET", "/metrics", "Authorization: Bearer "))
    assert (answer.status, answer.body["error"]) == (404, "not_found")
