"""The client against a real server, with an agent that describes CSV files.

The commands call every other operation by it: webhooks in `cli/test_listen.py` of the server.
"""

from collections.abc import Iterator

import pytest

from agentpost_client import AsyncClient, Attachment, Client, MessageStatus, webhooks
from agentpost_client.errors import NotFound
from tests.e2e.server import KEY, AgentServer

FILE = Attachment("sales.csv", b"month,revenue\nJan,120\n")
SECONDS_MAX = 90.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    home = tmp_path_factory.mktemp("server")
    with AgentServer(home, agent="examples.csv_agent:agent", pool_workers=2).start() as made:
        yield made


@pytest.fixture
def client(server: AgentServer) -> Iterator[Client]:
    with Client(server.url, KEY) as made:
        yield made


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
