"""Files as resources: their addresses, and what is given out of them."""

import base64
from typing import Any, Final
from urllib.parse import quote, unquote

import mcp.types as mcp

from agentpost.domain.limits import MCP_FILE_BYTES_MAX
from agentpost.doors.mcp.backend import Backend, BackendError, Json

PREFIX: Final = "agentpost://files/"
TEMPLATE: Final = f"{PREFIX}{{+file_id}}"
_TEXT_TYPES: Final = frozenset(
    {"application/json", "application/xml", "application/javascript", "image/svg+xml"}
)


def uri_of(file_id: str) -> str:
    """The address of a file."""
    return PREFIX + quote(file_id, safe="/")


def file_id_of(uri: str) -> str | None:
    """The file of an address; None for an address of something else."""
    return unquote(uri.removeprefix(PREFIX)) if uri.startswith(PREFIX) else None


def link(file: Json) -> mcp.ResourceLink:
    """A file of a result."""
    return mcp.ResourceLink(
        type="resource_link",
        uri=uri_of(file["file_id"]),
        name=file["name"],
        title=file.get("label") or None,
        mime_type=_plain(file["content_type"]),
        size=file["size"],
    )


def fact(file: Json) -> Json:
    """A file in the structured part of a result."""
    return {
        "uri": uri_of(file["file_id"]),
        "file_id": file["file_id"],
        "name": file["name"],
        "content_type": file["content_type"],
        "size": file["size"],
        "url": file["url"],
    }


async def list_files(backend: Backend, newest: int) -> list[mcp.Resource]:
    """The files of the newest works."""
    resources: dict[str, Any] = {}
    for line in (await backend.ask("listWork", limit=newest))["data"]:
        for file in (await backend.ask("getWork", line["work_id"]))["files"]:
            fields = link(file).model_dump(exclude={"type"})
            resources[file["file_id"]] = mcp.Resource.model_validate(fields)
    return list(resources.values())


async def contents(
    backend: Backend, uri: str
) -> mcp.TextResourceContents | mcp.BlobResourceContents:
    """The bytes of a file, text as text. Raises `BackendError`: ``not_found``, ``too_large``."""
    file_id = file_id_of(uri)
    if file_id is None:
        raise BackendError("not_found", "There is no such resource.", f"Addresses are {TEMPLATE}.")
    file = await backend.ask("getFile", file_id)
    if file["size"] > MCP_FILE_BYTES_MAX:
        raise BackendError(
            "too_large",
            f"The file has {file['size']:,} bytes; {MCP_FILE_BYTES_MAX:,} are the most here.",
            f"Download it: {file['url']}",
        )
    data = await backend.content(file_id)
    kind = _plain(file["content_type"])
    if kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(("+json", "+xml")):
        try:
            return mcp.TextResourceContents(uri=uri, mime_type=kind, text=data.decode())
        except UnicodeDecodeError:
            pass  # then as bytes
    return mcp.BlobResourceContents(
        uri=uri, mime_type=kind, blob=base64.b64encode(data).decode("ascii")
    )


def _plain(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
