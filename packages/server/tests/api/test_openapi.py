"""The served description (spec: Versioning)."""

import pytest

from agentpost.record.events import TEST_EVENT, EventName
from tests.e2e.caller import Caller

OPERATIONS = {
    "createMessage": ("post", "/v1/messages", {"200", "201", "400", "401", "404", "409", "413"}),
    "getMessage": ("get", "/v1/messages/{message_id}", {"200", "304", "400", "401", "404"}),
    "listMessageEvents": (
        "get",
        "/v1/messages/{message_id}/events",
        {"200", "400", "401", "404", "409"},
    ),
    "listWork": ("get", "/v1/work", {"200", "400", "401"}),
    "getWork": ("get", "/v1/work/{work_id}", {"200", "400", "401", "404"}),
    "getFile": ("get", "/v1/files/{file_id}", {"200", "401", "404"}),
    "getAccount": ("get", "/v1/me", {"200", "401"}),
}
EVERYWHERE = {"429", "500", "503"}


@pytest.mark.rule("Versioning 1")
def test_it_is_valid(caller: Caller) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator, validate

    document = caller.contract.document
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == "1.0.0"
    validate(document, cls=OpenAPIV31SpecValidator)


@pytest.mark.rule("getMessage.answers", "Errors success")
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_of_the_specification(caller: Caller, name: str) -> None:
    method, path, statuses = OPERATIONS[name]
    described = caller.contract.document["paths"][path][method]
    assert described["operationId"] == name
    refused = {"403"}  # an addition: scopes and networks of a key
    assert set(described["responses"]) == statuses | EVERYWHERE | refused
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
