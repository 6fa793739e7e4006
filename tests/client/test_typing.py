"""A user's own project type-checks against the installed client, with the strictest settings."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from pathlib import Path

from agentpost_client import AsyncClient, Client, Entry, Message


def ask(client: Client, last: Entry | None) -> dict[str, str]:
    sent: Message = client.send("Hello", files=[Path("a.csv")], metadata={"order": "7"})
    for item in client.work_list():
        print(item.work_id, item.status, item.updated_at)
    cursor, after = (last.cursor, last.seq) if last else (None, 0)
    for entry in client.follow(sent.id, cursor=cursor, after=after):
        print(entry.seq, entry.type, entry.cursor)
    return dict(sent.metadata)


async def later(client: AsyncClient, message_id: str) -> str:
    message = await client.wait(message_id, timeout=60)
    async for entry in client.follow(message_id):
        print(entry.text)
    return message.metadata.get("order", "") + (message.reply or "")


def reported(seconds: float, why: str) -> None:
    print(seconds, why)


with Client("http://127.0.0.1:8080", "svc_key_1", on_retry=reported) as client:
    print(ask(client, None)["order"])
"""


def test_a_strict_project_type_checks(tmp_path: Path) -> None:
    """It is checked outside of this tree, so it sees what an installed package shows."""
    (tmp_path / "shop.py").write_text(PROGRAM)
    options = ["--strict", "--no-incremental", "--follow-imports=silent", "--config-file="]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "shop.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
