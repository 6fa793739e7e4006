"""Uploading by hand: each step of the procedure, with whatever a test wants to be wrong."""

from typing import Any
from xml.etree import ElementTree as ET

import httpx2

from tests.e2e.caller import Caller, Json

CSV = b"a,b\n1,2\n"
MIB = 2**20


def announce(caller: Caller, filename: str = "a.csv", size: int = len(CSV), **more: Any) -> Json:
    body = {"filename": filename, "size": size, **more}
    answer = caller.call("POST", "/v1/uploads", json=body)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


def post(made: Json, data: bytes = CSV, /, **changes: str | None) -> httpx2.Response:
    """Post the form, some fields changed or (None) left out."""
    fields = {**made["fields"], **{n.replace("_", "-"): v for n, v in changes.items()}}
    given = {n: v for n, v in fields.items() if v is not None}
    return httpx2.post(made["url"], data=given, files={"file": ("x", data)}, trust_env=False)


def complete(caller: Caller, made: Json) -> httpx2.Response:
    return caller.call("POST", f"/v1/uploads/{made['upload_id']}/complete")


def ready(caller: Caller, data: bytes = CSV, filename: str = "a.csv") -> str:
    made = announce(caller, filename, len(data))
    assert post(made, data).status_code == 204
    assert complete(caller, made).status_code == 200
    upload_id: str = made["upload_id"]
    return upload_id


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code of an error in S3's shape."""
    assert answer.headers["content-type"].startswith("application/xml")
    code = ET.fromstring(answer.text).findtext("Code")
    assert code is not None
    return answer.status_code, code
