"""`send`: the request it makes, its idempotency key, and the agent that is busy."""

import base64
from pathlib import Path

import httpx2
import pytest

from agentpost_client import Attachment, FileRefused
from tests.client.scripted import Talk, answer, message, refusal


def sparse(path: Path, size: int = 400 * 2**20) -> Path:
    with path.open("wb") as stream:
        stream.truncate(size)
    return path


BUSY = message("failed", reason="agent_busy", retry_after_seconds=15)


async def test_files_travel_as_base64_with_name_and_type(talk: Talk, tmp_path: Path) -> None:
    csv = tmp_path / "sales.csv"
    csv.write_bytes(b"a,b\n1,2\n")
    talk.script = [answer(message(), 201)]
    await talk("send", "Chart", [csv, Attachment("raw", b"\0\1", "application/x-own")])
    encoded = base64.b64encode(b"a,b\n1,2\n").decode()
    assert talk.bodies[0]["files"] == [
        {"name": "sales.csv", "base64": encoded, "content_type": "text/csv"},
        {"name": "raw", "base64": "AAE=", "content_type": "application/x-own"},
    ]


async def test_every_call_has_its_own_key_and_keeps_it_over_retries(talk: Talk) -> None:
    talk.script = [
        httpx2.ReadTimeout("silence"),
        refusal(500, "internal"),
        refusal(503, "unavailable"),
        answer(message()),
    ]
    await talk("send", "Hi")
    keys = {request.headers["Idempotency-Key"] for request in talk.asked}
    assert len(keys) == 1
    assert len({request.content for request in talk.asked}) == 1
    talk.script = [answer(message())]
    await talk("send", "Hi")
    assert talk.asked[-1].headers["Idempotency-Key"] not in keys


@pytest.mark.parametrize("key", ["", " a", "a\n", "é", "k" * 129])
async def test_a_key_the_server_would_change_is_refused(talk: Talk, key: str) -> None:
    with pytest.raises(ValueError, match="idempotency_key"):
        await talk("send", "Hi", idempotency_key=key)


async def test_a_busy_agent_gets_the_same_request_again(talk: Talk) -> None:
    talk.script = [answer(BUSY, 201), answer(BUSY), answer(message(reply="Now."))]
    sent = await talk("send", "Hi")
    assert sent.reply == "Now."
    assert talk.pauses == [15, 15]
    assert len({request.headers["Idempotency-Key"] for request in talk.asked}) == 1


async def test_an_agent_that_stays_busy_is_reported_as_it_is(talk: Talk) -> None:
    talk.script = [answer(BUSY) for _ in range(talk.policy.busy_retries + 1)]
    sent = await talk("send", "Hi")
    assert sent.is_agent_busy


async def test_a_file_that_cannot_be_sent_is_refused_before_anything_is(
    talk: Talk, tmp_path: Path
) -> None:
    big = sparse(tmp_path / "big.bin", 500 * 2**20 + 1)
    for files, text in [
        ([tmp_path / "missing.csv"], "no file"),
        ([tmp_path], "folder"),
        ([big], r"big.bin has 500.0 MB; an upload takes 500.0 MB"),
        ([Attachment("a", b"")] * 6, "is empty"),
        ([Attachment("a", b"x")] * 16, "11 of the files have to be uploaded"),
        ([Attachment("a", b"x")] * 5 + [sparse(tmp_path / str(n)) for n in range(3)], "1200.0 MB"),
    ]:
        with pytest.raises(FileRefused, match=text):
            await talk("send", "Hi", files)
    assert talk.asked == []


@pytest.mark.parametrize("busy", ["fail", "queue"])
async def test_who_does_not_want_to_wait_gets_the_answer(talk: Talk, busy: str) -> None:
    talk.script = [answer(BUSY, 201)]
    assert (await talk("send", "Hi", busy=busy)).is_agent_busy
    assert talk.bodies[0]["busy"] == busy
    assert talk.pauses == []
