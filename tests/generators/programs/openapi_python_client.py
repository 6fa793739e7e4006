"""A client made by openapi-python-client; see `tests/generators/generated.py`."""

import json
import os

import httpx
from agentpost_api import AuthenticatedClient
from agentpost_api.api.files import get_file
from agentpost_api.api.messages import create_message, get_message, list_messages, stream_message
from agentpost_api.api.uploads import complete_upload, create_upload
from agentpost_api.api.webhooks import create_webhook_endpoint, delete_webhook_endpoint
from agentpost_api.models import (
    EndpointIn,
    EndpointInEventsType0Item,
    MessageIn,
    MessageInMetadataType0,
    UploadIn,
)

ORDER = os.environ["ORDER"]
api = AuthenticatedClient(os.environ["AGENTPOST_URL"], os.environ["AGENTPOST_KEY"])


def labels(order: str) -> MessageInMetadataType0:
    return MessageInMetadataType0.from_dict({"order": order})


body = MessageIn(message=os.environ["MESSAGE"], metadata=labels(ORDER))
first = create_message.sync(client=api, body=body, wait=0, idempotency_key=ORDER)
create_message.sync(client=api, body=MessageIn(message="Hello", metadata=labels("another")))
last = first
while not last.final:
    last = get_message.sync(first.id, client=api, wait=20)

listed = list_messages.sync(client=api, metadata=[f"order={ORDER}"], created_after=first.created_at)
endpoint = EndpointIn(
    url="https://receiver.invalid/hook", events=[EndpointInEventsType0Item.MESSAGE_COMPLETED]
)
hook = create_webhook_endpoint.sync(client=api, body=endpoint)
gone = delete_webhook_endpoint.sync(hook.id, client=api)

ticket = create_upload.sync(client=api, body=UploadIn(filename="a.csv", size=4))
httpx.post(ticket.url, data=ticket.fields.to_dict(), files={"file": b"a,b\n"}).raise_for_status()
upload = complete_upload.sync(ticket.upload_id, client=api)

file = get_file.sync(last.files[0].file_id, client=api)
stream = stream_message.sync_detailed(first.id, client=api)
unknown = get_message.sync_detailed("msg_" + "0" * 32, client=api)
print(
    json.dumps(
        {
            "status": last.status,
            "listed": [each.id for each in listed.data] == [first.id],
            "deleted": gone.deleted,
            "upload": upload.status,
            "file": f"{file.name} {httpx.get(file.url).text}",
            "streamed": b"event: end" in stream.content,
            "error": f"{unknown.status_code} {unknown.parsed.error}",
        }
    )
)
