"""Models made by datamodel-code-generator; they read every answer, and write every body."""

import json
import os

import httpx
import models

ORDER = os.environ["ORDER"]
api = httpx.Client(
    base_url=os.environ["AGENTPOST_URL"],
    headers={"Authorization": f"Bearer {os.environ['AGENTPOST_KEY']}"},
    timeout=60,
)


def post(path: str, body: models.BaseModel) -> httpx.Response:
    return api.post(path, json=body.model_dump(mode="json", exclude_unset=True))


message = models.MessageIn(message=os.environ["MESSAGE"], metadata={"order": ORDER})
answer = post("/v1/messages?wait=0", message)
first = models.MessageShape.model_validate_json(answer.content)
other = models.MessageIn(message="Hello", metadata={"order": "another"})
post("/v1/messages", other).raise_for_status()
last = first
while not last.final:
    answer = api.get(f"/v1/messages/{first.id}", params={"wait": 20})
    last = models.MessageShape.model_validate_json(answer.content)

wanted = {"metadata": [f"order={ORDER}"], "created_after": first.created_at.isoformat()}
answer = api.get("/v1/messages", params=wanted)
listed = models.MessageListShape.model_validate_json(answer.content)
endpoint = models.EndpointIn(url="https://receiver.invalid/hook", events=["message.completed"])
answer = post("/v1/webhooks", endpoint)
hook = models.NewEndpointShape.model_validate_json(answer.content)
answer = api.delete(f"/v1/webhooks/{hook.id}")
gone = models.DeletedEndpointShape.model_validate_json(answer.content)

answer = post("/v1/uploads", models.UploadIn(filename="a.csv", size=4))
ticket = models.UploadCreatedShape.model_validate_json(answer.content)
httpx.post(ticket.url, data=ticket.fields, files={"file": b"a,b\n"}).raise_for_status()
answer = api.post(f"/v1/uploads/{ticket.upload_id}/complete")
upload = models.UploadShape.model_validate_json(answer.content)

answer = api.get(f"/v1/files/{last.files[0].file_id}")
file = models.FileObject.model_validate_json(answer.content)
stream = api.get(f"/v1/messages/{first.id}/stream").text
answer = api.get("/v1/messages/msg_" + "0" * 32)
unknown = models.ErrorShape.model_validate_json(answer.content)
print(
    json.dumps(
        {
            "status": last.status,
            "listed": [each.id for each in listed.data] == [first.id],
            "deleted": gone.deleted,
            "upload": upload.status,
            "file": f"{file.name} {httpx.get(file.url).text}",
            "streamed": "event: end" in stream,
            "error": f"{answer.status_code} {unknown.error}",
        }
    )
)
