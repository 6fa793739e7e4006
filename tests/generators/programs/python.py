"""A client made by openapi-generator's `python`; see `tests/generators/generated.py`."""

import json
import os

import httpx
from openapi_client import (
    ApiClient,
    Configuration,
    EndpointIn,
    FilesApi,
    MessageIn,
    MessagesApi,
    UploadIn,
    UploadsApi,
    WebhooksApi,
)
from openapi_client.exceptions import NotFoundException

ORDER = os.environ["ORDER"]
settings = Configuration(os.environ["AGENTPOST_URL"], access_token=os.environ["AGENTPOST_KEY"])
api = ApiClient(settings)
messages, webhooks, uploads = MessagesApi(api), WebhooksApi(api), UploadsApi(api)

first = messages.create_message(
    MessageIn(message=os.environ["MESSAGE"], metadata={"order": ORDER}),
    wait=0,
    idempotency_key=ORDER,
)
messages.create_message(MessageIn(message="Hello", metadata={"order": "another"}))
last = first
while not last.final:
    last = messages.get_message(first.id, wait=20)

listed = messages.list_messages(metadata=[f"order={ORDER}"], created_after=first.created_at)
hook = webhooks.create_webhook_endpoint(
    EndpointIn(url="https://receiver.invalid/hook", events=["message.completed"])
)
gone = webhooks.delete_webhook_endpoint(hook.id)

ticket = uploads.create_upload(UploadIn(filename="a.csv", size=4))
httpx.post(ticket.url, data=ticket.fields, files={"file": b"a,b\n"}).raise_for_status()
upload = uploads.complete_upload(ticket.upload_id)

file = FilesApi(api).get_file(last.files[0].file_id)
stream = messages.stream_message(first.id)
try:
    messages.get_message("msg_" + "0" * 32)
except NotFoundException as refused:
    error = f"{refused.status} {refused.data.error}"
print(
    json.dumps(
        {
            "status": last.status,
            "listed": [each.id for each in listed.data] == [first.id],
            "deleted": gone.deleted,
            "upload": upload.status,
            "file": f"{file.name} {httpx.get(file.url).text}",
            "streamed": "event: end" in stream,
            "error": error,
        }
    )
)
