"""The served description (spec: Versioning)."""

import pytest

from agentpost.record.events import TEST_EVENT, EventName
from tests.e2e.caller import Caller

SUCCESS = {
    "createMessage": {"200", "201"},
    "getMessage": {"200", "304"},
    "listMessageEvents": {"200"},
    "listWork": {"200"},
    "getWork": {"200"},
    "getFile": {"200"},
    "getAccount": {"200"},
}
"""Errors are those that can come: test_catalogue.py."""


@pytest.mark.rule("Versioning 1")
def test_it_is_valid(caller: Caller) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator, validate

    document = caller.contract.document
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == "1.0.0"
    validate(document, cls=OpenAPIV31SpecValidator)


@pytest.mark.rule("getMessage.answers", "Errors success")
@pytest.mark.parametrize("name", SUCCESS)
def test_an_operation_of_the_specification(caller: Caller, name: str) -> None:
    paths = caller.contract.document["paths"].values()
    [described] = [op for ops in paths for op in ops.values() if op["operationId"] == name]
    assert {status for status in described["responses"] if status < "400"} == SUCCESS[name]
    assert described["summary"]


def test_every_webhook_event_is_described(caller: Caller) -> None:
    described = caller.contract.document["webhooks"]
    assert set(described) == {*EventName, TEST_EVENT}
    signed = {"webhook-id", "webhook-timestamp", "webhook-signature", "traceparent"}
    for methods in described.values():
        assert {p["name"] for p in methods["post"]["parameters"]} == signed


@pytest.mark.rule("Errors executable_refused")
def test_only_the_upload_of_a_program_is_a_422(caller: Caller) -> None:
    found = [
        operation["operationId"]
        for methods in caller.contract.document["paths"].values()
        for operation in methods.values()
        if "422" in operation["responses"]
    ]
    assert set(found) <= {"completeUpload"}


def test_operation_ids_are_unique_and_need_a_key(caller: Caller) -> None:
    document = caller.contract.document
    ids = [op["operationId"] for ops in document["paths"].values() for op in ops.values()]
    assert len(ids) == len(set(ids))
    assert document["security"] == [{"key": []}]
