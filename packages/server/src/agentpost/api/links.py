"""The links of the OpenAPI document: how one operation leads to the next.

Each link says where an id in a response can be used, so that a program can use the API as a client
does: send, read, follow; announce a file, complete it; make an endpoint, use it, delete it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentpost.api.operation import Operation


@dataclass(frozen=True, slots=True)
class Link:
    """How a response of ``origin`` and its request fill the parameters of each operation in ``to``.

    ``values``: the runtime expression (OpenAPI, "Link Object") of every such parameter.
    """

    origin: str
    to: tuple[str, ...]
    values: dict[str, str]


LINKS = (
    Link(
        "createMessage",
        ("getMessage", "listMessageEvents", "streamMessage", "recoverMessage", "cancelMessage"),
        {"message_id": "$response.body#/id"},
    ),
    Link("listEvents", ("listEvents",), {"cursor": "$response.body#/cursor"}),
    Link("listRequests", ("listRequests",), {"cursor": "$response.body#/cursor"}),
    Link("listRequests", ("getRequest",), {"request_id": "$response.body#/data/0/id"}),
    Link("createMessage", ("getWork",), {"work_id": "$response.body#/jobs/0/work_id"}),
    Link(
        "listWork",
        ("getWork", "stopWork", "deleteWork"),
        {"work_id": "$response.body#/data/0/work_id"},
    ),
    Link("getWork", ("getFile",), {"file_id": "$response.body#/files/0/file_id"}),
    Link("createUpload", ("completeUpload",), {"upload_id": "$response.body#/upload_id"}),
    Link(
        "createSchedule",
        ("getSchedule", "updateSchedule", "deleteSchedule"),
        {"schedule_id": "$response.body#/id"},
    ),
    Link(
        "createWebhookEndpoint",
        (
            "getWebhookEndpoint",
            "updateWebhookEndpoint",
            "rotateWebhookSecret",
            "testWebhookEndpoint",
            "listWebhookDeliveries",
            "replayWebhookEvents",
            "deleteWebhookEndpoint",
        ),
        {"endpoint_id": "$response.body#/id"},
    ),
    Link(
        "testWebhookEndpoint",
        ("redeliverWebhookEvent",),
        {"endpoint_id": "$request.path.endpoint_id", "event_id": "$response.body#/id"},
    ),
)


def links(operation: Operation, operations: Sequence[Operation]) -> dict[str, Any]:
    """The links of an operation's success answer; those whose target is not served are left out."""
    ids = {each.id for each in operations}
    return {name: link for name, link in _links(operation.id) if link["operationId"] in ids}


def _links(origin: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for link in LINKS:
        if link.origin == origin:
            for target in link.to:
                yield target, {"operationId": target, "parameters": link.values}
