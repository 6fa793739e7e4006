"""Files of the OpenAI API, through the official client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.server import AgentServer
from tests.libraries import openai


def read_by_the_agent(client: openai.OpenAI, file_id: str, attempt: int = 0) -> str:
    parts: Any = [
        {"type": "input_text", "text": json.dumps([["read"]])},
        {"type": "input_file", "file_id": file_id},
    ]
    answer = client.responses.create(
        model="agentpost",
        input=[{"role": "user", "content": parts}],
        extra_headers={"x-stainless-retry-count": str(attempt)},
    )
    return answer.output_text


def test_an_uploaded_file_is_read_listed_sent_and_kept_with_its_message(
    client: openai.OpenAI,
) -> None:
    data = "naïve text".encode()
    file = client.files.create(file=("Größe.txt", data), purpose="assistants")
    assert (file.filename, file.bytes, file.purpose) == ("Größe.txt", len(data), "assistants")
    assert file.expires_at is not None
    assert client.files.retrieve(file.id).filename == "Größe.txt"
    assert client.files.content(file.id).read() == data
    others = [client.files.create(file=b"x", purpose="user_data").id for _ in range(3)]
    listed = [each.id for each in client.files.list(limit=2)]  # the client asks for each page
    assert listed == [*reversed(others), file.id]
    assert [each.id for each in client.files.list(order="asc")] == [file.id, *others]
    assert read_by_the_agent(client, file.id) == "naïve text"
    assert read_by_the_agent(client, file.id) == "naïve text", "as often as it is sent"
    assert read_by_the_agent(client, file.id, attempt=1) == "naïve text", "it needs no copy"
    assert client.files.retrieve(file.id).expires_at is None
    assert client.files.content(file.id).read() == data
    with pytest.raises(openai.ConflictError, match="belongs to a message"):
        client.files.delete(file.id)
    assert client.files.delete(others[0]).deleted
    for call in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(openai.NotFoundError):
            call(others[0])
    assert len(list(client.files.list())) == len(others) + 1, "with the one copy that a message has"


def test_what_is_no_file_is_refused_and_leaves_nothing(
    client: openai.OpenAI, server: AgentServer, foreign_key: str, reading_key: str
) -> None:
    foreign = client.with_options(api_key=foreign_key)
    post = foreign._client.post
    key = {"Authorization": f"Bearer {foreign_key}"}
    url = f"{server.url}/openai/v1/files"
    whole = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--'
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    bodies: list[tuple[bytes, dict[str, str], int]] = [
        (b"{}", {"Content-Type": "application/json"}, 400),
        (whole[:-10], form, 400),
        (whole.replace(b'"file"', b'"document"').replace(b"filename", b"x"), form, 400),
        (whole.replace(b"\r\nx", b"\r\n"), form, 400),
        (whole.replace(b"x", b"x" * 17 * 2**20), form, 413),
        (whole.replace(b"\r\nx", b"\r\n\x7fELF" + b"\0" * 100), form, 422),
    ]
    for body, headers, status in bodies:
        refused = post(url, content=body, headers={**key, **headers})
        assert refused.status_code == status, refused.text
        assert refused.json()["error"]["message"]
    assert list(foreign.files.list()) == []
    own = client.files.create(file=b"mine", purpose="user_data").id
    reading = client.with_options(api_key=reading_key)
    assert reading.files.retrieve(own).bytes == 4
    with pytest.raises(openai.PermissionDeniedError):
        reading.files.delete(own)
    with pytest.raises(openai.PermissionDeniedError):
        reading.files.create(file=b"x", purpose="user_data")
    for limit in ("0", "-1", "x", "9" * 30):
        with pytest.raises(openai.BadRequestError):
            client.files.list(extra_query={"limit": limit})
    theirs = foreign.files.create(file=b"theirs", purpose="user_data").id
    for name, value in (("order", "newest"), ("purpose", "batch")):
        with pytest.raises(openai.BadRequestError) as refused_filter:
            client.files.list(extra_query={name: value})
        assert refused_filter.value.param == name
    for after in ("nonsense", theirs):
        with pytest.raises(openai.BadRequestError) as refused_place:
            client.files.list(after=after)
        assert refused_place.value.param == "after"


def test_files_of_messages_of_other_keys_are_for_who_may_read_those(
    server: AgentServer, client: openai.OpenAI, reading_key: str
) -> None:
    auditor = client.with_options(api_key=server.another_key("auditor", "read,read_all"))
    another = client.with_options(api_key=server.another_key("another", "send,read"))
    reading = client.with_options(api_key=reading_key)
    file = client.files.create(file=("own.txt", b"for one key"), purpose="user_data")
    assert reading.files.content(file.id).read() == b"for one key", "no message has it yet"
    assert read_by_the_agent(client, file.id) == "for one key"
    for key in (reading, another):
        assert file.id not in [each.id for each in key.files.list()]
        for call in (key.files.retrieve, key.files.content):
            with pytest.raises(openai.NotFoundError):
                call(file.id)
    with pytest.raises(openai.OpenAIError):
        read_by_the_agent(another, file.id)
    for key in (client, auditor):
        assert file.id in [each.id for each in key.files.list()]
        assert key.files.content(file.id).read() == b"for one key"
