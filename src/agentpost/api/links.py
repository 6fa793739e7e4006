"""What leads from one operation to the next: the links of the OpenAPI description.

They say where an id in an answer can be used, so that a program can walk through the API as a
client does: send, read, follow; announce a file, complete it; make an endpoint, use it, delete it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentpost.api.operation import Operation


@dataclass(frozen=True, slots=True)
class Way:
    """``parameter`` of the operations ``to`` is found in the answer of ``origin``.

    ``value`` is a JSON pointer into that answer.
    """

    origin: str
    value: str
    parameter: str
    to: tuple[str, ...]


WAYS = (
    Way(
        "createMessage",
        "/id",
        "message_id",
        ("getMessage", "listMessageEvents", "recoverMessage"),
    ),
    Way("createMessage", "/jobs/0/work_id", "work_id", ("getWork",)),
    Way("listWork", "/data/0/work_id", "work_id", ("getWork", "stopWork", "deleteWork")),
    Way("createUpload", "/upload_id", "upload_id", ("completeUpload",)),
    Way(
        "createWebhookEndpoint",
        "/id",
        "endpoint_id",
        (
            "getWebhookEndpoint",
            "updateWebhookEndpoint",
            "rotateWebhookSecret",
            "testWebhookEndpoint",
            "listWebhookDeliveries",
            "replayWebhookEvents",
            "deleteWebhookEndpoint",
        ),
    ),
)


def links(operation: Operation, operations: Sequence[Operation]) -> dict[str, Any]:
    """The links of an operation's success answer; those whose target is not served are left out."""
    served = {each.id for each in operations}
    return {name: link for name, link in _links(operation.id) if link["operationId"] in served}


def _links(origin: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for way in WAYS:
        if way.origin == origin:
            for target in way.to:
                found = f"$response.body#{way.value}"
                yield target, {"operationId": target, "parameters": {way.parameter: found}}
