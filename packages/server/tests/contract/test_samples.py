"""Samples of webhook events have the shape of real ones."""

import json
import re

import pytest

from agentpost.domain.times import iso
from agentpost.events import sample_shapes
from agentpost.record.events import EventName
from agentpost.webhooks.signing import new_secret, signed_headers
from agentpost_client import webhooks
from tests.contract.test_shapes import AT, LINKS

ID = re.compile(r"\b(msg|exe|wrk)_0{31}[01]\b")
SECRET = new_secret()
STATUSES = {"blocked": "blocked", "resumed": "running"}


@pytest.mark.parametrize("name", EventName)
@pytest.mark.rule("Additions test-event")
def test_a_sample_tells_what_its_name_says(name: EventName) -> None:
    """In the status that the name has, derived by the rules of real ones."""
    body = sample_shapes.event(name, AT, LINKS).json()
    sent = json.loads(body)
    assert (sent["type"], sent["timestamp"], sent["test"]) == (name, iso(AT), True)
    about, _, what = name.partition(".")
    assert sent["data"]["object"] == about
    assert sent["data"]["status"] == STATUSES.get(what, what)
    assert sent["data"]["metadata"] == {"order": "1042"}
    assert ID.fullmatch(sent["data"]["id" if about == "message" else "job_id"])
    assert not re.search(r"\b(msg|exe|wrk)_(?!0{31})", body.decode())

    read = webhooks.unwrap(body, signed_headers([SECRET], "evt_1", 5, body), SECRET, now=5)
    assert isinstance(read, webhooks.MessageEvent | webhooks.JobEvent)
    assert read.test is True
