"""Every part of the client against a real server, with an agent that describes CSV files."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

import pytest

from agentpost_client import AsyncClient, Attachment, Client, MessageStatus, webhooks
from agentpost_client.errors import NotFound
from tests.e2e.server import KEY, AgentServer
from tests.waiting import eventually

FILE = Attachment("sales.csv", b"month,revenue\nJan,120\n")
SECONDS_MAX = 90.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    home = tmp_path_factory.mktemp("server")
    made = AgentServer(
        home, agent="examples.csv_agent:agent", pool_workers=2, egress_allow="127.0.0.0/8"
    ).start()
    yield made
    made.stop()


@pytest.fixture
def client(server: AgentServer) -> Iterator[Client]:
    with Client(server.url, KEY) as made:
        yield made


@contextmanager
def receiver() -> Iterator[tuple[str, Queue[tuple[bytes, dict[str, str]]]]]:
    """An address of ours, and what arrives there."""
    arrived: Queue[tuple[bytes, dict[str, str]]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            arrived.put((body, dict(self.headers.items())))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/hooks", arrived
        finally:
            http.shutdown()
            thread.join()


def test_a_message_and_its_work(client: Client) -> None:
    done = client.send_and_wait("Look", [FILE], conversation="message", timeout=SECONDS_MAX)
    assert done.status is MessageStatus.COMPLETED
    assert client.messages.get(done.id, known=done) is done
    (found,) = client.messages.list(conversation="message")
    assert (found.id, found.raw["message"]) == (done.id, "Look")
    assert client.messages.recover(done.id).id == done.id
    assert client.messages.cancel(done.id).version == done.version
    work_id = done.jobs[0].work_id
    assert work_id in [item.work_id for item in client.work.list(50)]
    assert client.work.text(work_id) == client.work.get(work_id).text
    assert client.work.stop(work_id).work_id == work_id
    assert client.files.read(done.files[0]).startswith(b"name,filled,kind")
    assert client.messages.delete(done.id).deleted
    assert client.work.delete(work_id).deleted
    with pytest.raises(NotFound) as caught:
        client.get(done.id)
    assert caught.value.request_id


def test_pages_over_a_list(client: Client) -> None:
    sent = [client.send(f"Hello {n}", conversation="pages").id for n in range(3)]
    found = [each.id for each in client.messages.list(conversation="pages", limit=2)]
    assert found == sent[::-1]
    assert len(client.messages.list(conversation="pages", limit=2).page()) == 2
    assert [line.group for line in client.usage("key")][:1] == ["key"]


def test_the_life_of_a_webhook_endpoint(client: Client) -> None:
    began = datetime.now(UTC) - timedelta(minutes=1)
    with receiver() as (url, arrived):
        made = client.webhooks.create(url, ["message.needs_input"], "for a test")
        tested = client.webhooks.test(made.id)
        body, headers = arrived.get(timeout=SECONDS_MAX)
        event = webhooks.unwrap(body, headers, made.secret)
        assert isinstance(event, webhooks.TestEvent)
        assert (event.id, event.data.webhook_endpoint_id) == (tested.id, made.id)
        rotated = client.webhooks.rotate_secret(made.id, grace_seconds=60)
        client.send("Without a file", conversation="webhooks")
        body, headers = arrived.get(timeout=SECONDS_MAX)
        for secret in (made.secret, rotated.secret):
            asked = webhooks.unwrap(body, headers, secret)
            assert isinstance(asked, webhooks.MessageEvent)
            assert asked.data.status is MessageStatus.NEEDS_INPUT
        # While its attempt is under way it would not be sent twice.
        eventually(lambda: delivered(client, made.id, asked.id))
        client.webhooks.redeliver(made.id, asked.id)
        assert webhooks.unwrap(*arrived.get(timeout=SECONDS_MAX), rotated.secret).id == asked.id
        deliveries = list(client.webhooks.deliveries(made.id, limit=1))
        assert [each.id for each in deliveries] == [asked.id, tested.id]
        assert client.webhooks.replay(made.id, began, until=began).deliveries == 0
        changed = client.webhooks.update(made.id, enabled=False, description="off")
        assert (changed.disabled_at is not None, changed.description) == (True, "off")
        assert client.webhooks.get(made.id).recent_deliveries[-1].id == tested.id
        assert [each.id for each in client.webhooks.list()] == [made.id]
        assert client.webhooks.delete(made.id).deleted


def delivered(client: Client, endpoint_id: str, event_id: str) -> bool:
    """Whether the server has recorded that the event arrived."""
    known = {each.id: each.status for each in client.webhooks.deliveries(endpoint_id)}
    return known.get(event_id) == "delivered"


async def test_both_at_once_for_asyncio(server: AgentServer) -> None:
    async with AsyncClient(server.url, KEY) as client:
        cursor = (await client.events.list()).cursor
        done = await client.send_and_wait("Look", [FILE], conversation="asyncio")
        async for event in client.events.follow(cursor, conversation="asyncio"):
            if isinstance(event, webhooks.MessageEvent) and event.data.final:
                assert event.data.id == done.id
                break
        ids = [each.id async for each in client.messages.list(conversation="asyncio")]
        assert ids == [done.id]
