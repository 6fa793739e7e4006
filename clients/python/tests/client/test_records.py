"""Work, files and the account; records of servers newer than this SDK; settings."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from agentpost_client import Client, ConfigError, Message
from agentpost_client.config import resolve_config
from agentpost_client.records import WrongShape
from tests.client.scripted import Talk, answer

FULL: dict[str, Any] = {
    "id": "msg_1",
    "object": "message",
    "status": "pondering",
    "reason": "moon_phase",
    "question": None,
    "final": False,
    "reply": None,
    "jobs": [{"job_id": "exe_1", "status": "paused", "queued": None, "files": [], "mood": "good"}],
    "files": [{"file_id": "wrk_1/a/b.png", "name": "b.png", "url": "https://x", "label": None}],
    "notes": ["note"],
    "credits_used": 1.5,
    "created_at": "2026-11-20T10:00:00.000001Z",
    "running": None,
    "stars": {"count": 3},
}


@pytest.mark.rule("Versioning 2")
def test_unknown_fields_and_words_and_nulls_are_taken() -> None:
    read = Message.read(FULL)
    values = (read.status, read.reason, read.reply, read.running)
    assert values == ("pondering", "moon_phase", None, ())
    assert read.jobs[0].status == "paused"
    assert read.jobs[0].queued is False
    assert read.created_at is not None
    assert read.created_at.microsecond == 1
    assert read.raw == FULL
    assert read.files[0].raw == FULL["files"][0]
    assert read.stars == {"count": 3}  # type: ignore[attr-defined]


def test_records_cannot_be_changed() -> None:
    read = Message.read(FULL)
    with pytest.raises(FrozenInstanceError):
        read.status = "completed"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"id": None}, "id"),
        ({"final": "yes"}, "final"),
        ({"version": 1.5}, "version"),
        ({"version": True}, "version"),
        ({"credits_used": 10**400}, "credits_used"),
        ({"notes": "note"}, "notes"),
        ({"notes": ["note", 7]}, "notes.1"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"metadata": {"order": 7}}, "metadata.order"),
        ({"jobs": [{"status": "running"}]}, "jobs.0.job_id"),
        ({"files": [7]}, "files.0"),
    ],
)
def test_an_answer_that_is_no_record_is_reported_with_its_place(
    change: dict[str, Any], where: str
) -> None:
    with pytest.raises(WrongShape, match=f"^{re.escape(where)}$"):
        Message.read({**FULL, **change})


def test_an_attribute_that_no_record_has_is_an_error() -> None:
    read = Message.read(FULL)
    assert not hasattr(read, "planets")
    assert copy.deepcopy(read) == pickle.loads(pickle.dumps(read)) == read


@pytest.mark.parametrize(
    ("method", "given", "path"),
    [
        ("file", "wrk_1/a b/c?.png", "/v1/files/wrk_1/a%20b/c%3F.png"),
        ("work", "a/../../me?b=1", "/v1/work/a%2F..%2F..%2Fme%3Fb%3D1"),
    ],
)
async def test_an_id_cannot_change_the_route(
    talk: Talk, method: str, given: str, path: str
) -> None:
    """Of a file's it is the slashes that stay."""
    talk.script = [answer({"work_id": "x", "file_id": given, "name": "x", "url": "https://x"})]
    await talk(method, given)
    assert talk.paths == [path]


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"AGENTPOST_URL": "http://host:1/base/v1/", "AGENTPOST_KEY": " k\n"}
    config = resolve_config(None, None, environment)
    assert (config.url, config.key) == ("http://host:1/base", "k")
    assert resolve_config("https://other", "mine", environment).url == "https://other"
    monkeypatch.delenv("AGENTPOST_URL", raising=False)
    with pytest.raises(ConfigError, match="AGENTPOST_URL"):
        Client(key="k")


@pytest.mark.parametrize(
    ("url", "key", "text"),
    [
        ("", "k", "set AGENTPOST_URL"),
        ("http://h", "", "set AGENTPOST_KEY"),
        ("localhost:8000", "k", "AGENTPOST_URL"),
        ("http://ex ample", "k", "AGENTPOST_URL"),
        ("http://h\n", "", "AGENTPOST_KEY"),
        ("http://user:pass@h", "k", "AGENTPOST_URL"),
        ("http://h/?a=1", "k", "AGENTPOST_URL"),
        ("http://h", "kéy", "AGENTPOST_KEY"),
        ("http://h", "a b", "AGENTPOST_KEY"),
    ],
)
def test_settings_that_cannot_work_are_refused(url: str, key: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text) as caught:
        resolve_config(url, key, {})
    assert "pass" not in str(caught.value).replace("password", "")


def test_the_key_is_not_in_the_settings_repr() -> None:
    assert "secret" not in repr(resolve_config("http://h", "secret", {}))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"reply": "Hello."}, "Hello."),
        ({"reply": "On it.", "jobs": [None]}, "On it."),
        ({"reply": "On it.", "jobs": ["Done.", None, "Sent."]}, "Done.\n\nSent."),
        ({"reply": "On it.", "jobs": ["Done."], "question": "Which?"}, "Which?"),
        ({}, None),
    ],
)
def test_the_text_to_show_is_the_question_else_results_else_the_reply(
    fields: dict[str, Any], text: str | None
) -> None:
    jobs = [{**FULL["jobs"][0], "text": result} for result in fields.get("jobs", ())]
    read = Message.read({**FULL, **fields, "jobs": jobs})
    assert read.text == text
