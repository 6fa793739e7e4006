"""Uploading by hand: each step of the procedure, with whatever a test wants to be wrong."""

from typing import Any
from xml.etree import ElementTree as ET

import httpx2

from tests.e2e.caller import Caller, Json

CSV = b"a,b\n1,2\n"
MIB = 2**20
FILE = ('name="file"; filename="a.csv"', CSV)
"""The last part of a form written by hand: header parameters and value."""


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


def body_of(made: Json, *parts: tuple[str, bytes], boundary: str = "b") -> bytes:
    """A form written by hand: the fields, then the given parts (header parameters, value)."""
    fields = [(f'name="{n}"', v.encode()) for n, v in made["fields"].items()]
    text = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode(
            errors="surrogateescape"
        )
        + value
        + b"\r\n"
        for head, value in [*fields, *parts]
    )
    return text + f"--{boundary}--\r\n".encode()


def post_raw(
    made: Json, body: bytes, content_type: str = "multipart/form-data; boundary=b"
) -> httpx2.Response:
    headers = {"Content-Type": content_type}
    return httpx2.post(made["url"], content=body, headers=headers, trust_env=False)


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
