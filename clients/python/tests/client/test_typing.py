"""A user's own project type-checks against the installed client, with the strictest settings.

pyright does it in every run; `make typing` asks mypy too, which takes seven seconds of CPU.
"""

import sys
from pathlib import Path

from tests import programs

PROGRAM = """
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from pathlib import Path

import httpx2
from agentpost_client import (
    AsyncClient, Attachment, Client, Entry, Message, MessageStatus, Reason, RemoteFile, TextDelta,
    TextReset, webhooks
)
from agentpost_client.errors import ApiError, NotFound, RateLimited, WaitTimeout


def ask(client: Client, last: Entry | None) -> dict[str, str]:
    sent: Message = client.send("Hello", files=[Path("a.csv")], metadata={"order": "7"})
    for item in client.work_list():
        print(item.work_id, item.status, item.updated_at)
    cursor, after = (last.cursor, last.seq) if last else (None, 0)
    for entry in client.follow(sent.id, cursor=cursor, after=after):
        print(entry.seq, entry.type, entry.cursor)
    for part in client.send_and_stream("Hello", conversation="c"):
        if isinstance(part, TextDelta):
            print(part.offset, part.text, part.job_id)
        elif isinstance(part, Entry):
            print(part.seq)
        elif isinstance(part, TextReset):
            print(part.job_id)
        else:
            sent = part
    if sent.status == MessageStatus.BLOCKED and sent.reason == Reason.OUT_OF_CREDITS:
        print(sent.resume_by)
    for delivery in client.webhooks.deliveries("whe_1", status="failed"):
        print(delivery.id, delivery.attempt_log[0].status_code)
    client.webhooks.replay("whe_1", datetime.now(timezone.utc), status=["failed"])
    return dict(sent.metadata)


async def numbers() -> AsyncIterator[bytes]:
    yield b"1"


async def later(client: AsyncClient, message_id: str) -> str:
    message = await client.wait(message_id, timeout=60)
    async for entry in client.follow(message_id):
        print(entry.text)
    async for part in client.send_and_stream("Hello"):
        if isinstance(part, Message):
            message = part
    with open("a.csv", "rb") as stream:
        await client.send("Look", [stream, "b.csv", RemoteFile("https://example.com/c.csv")])
    await client.upload(Attachment("n.txt", numbers()), on_progress=lambda done, total: None)
    done = await client.with_options(timeout=5, max_retries=0).send_and_wait(
        "Hello", conversation="c", timeout=10
    )
    async for delivery in client.webhooks.deliveries("whe_1"):
        print(delivery.created_at, done.id)
    return message.metadata.get("order", "") + (message.reply or "")


def received(body: bytes, headers: dict[str, str]) -> str:
    event = webhooks.unwrap(body, headers, ["whsec_a", "whsec_b"])
    match event:
        case webhooks.MessageEvent():
            return event.data.reply or ""
        case webhooks.JobEvent():
            return event.data.job_id
        case _:
            return event.type


def careful(client: Client) -> float | None:
    try:
        client.get("msg_1")
    except NotFound as error:
        print(error.request_id, error.hint)
    except RateLimited as error:
        return error.retry_after
    except WaitTimeout as error:
        print(error.message.status)
    except ApiError as error:
        print(error.code, [problem.field for problem in error.problems])
    return None


def with_http(http: httpx2.Client, later: httpx2.AsyncClient) -> tuple[Client, AsyncClient]:
    return Client(http_client=http), AsyncClient(http_client=later)


def reported(seconds: float, why: str) -> None:
    print(seconds, why)


with Client("http://127.0.0.1:8080", "svc_key_1", on_retry=reported) as client:
    print(ask(client, None)["order"])
"""


def check(folder: Path, *command: str) -> None:
    """It is checked outside of this tree, so it sees what an installed package shows."""
    (folder / "shop.py").write_text(PROGRAM)
    programs.printed(sys.executable, "-m", *command, "shop.py", cwd=folder)


def test_pyright_takes_a_strict_project(tmp_path: Path) -> None:
    """basedpyright is pyright with its program in the wheel; "strict" means the same in both."""
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    check(tmp_path, "basedpyright", "--pythonpath", sys.executable)
