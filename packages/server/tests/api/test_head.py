"""HEAD answers as GET would, without the body, on every route that has GET (RFC 9110, 9.3.2)."""

import http.client
import re

from agentpost.api.app import OPERATIONS
from agentpost.doors.routes import DOORS
from tests.e2e.caller import Caller
from tests.e2e.raw import connect, head
from tests.e2e.server import AgentServer

PUBLISHED = ("/docs", "/docs/errors", "/openapi.json", "/favicon.ico", "/healthz", "/readyz")
COMPARED = ("content-length", "content-type", "transfer-encoding", "etag", "allow", "location")


def paths(caller: Caller) -> list[str]:
    """Each address that has GET; those of a message or file are of one that is there."""
    message = caller.send([["write", "a.txt", "text"], ["reply", "ok"]])
    file = message["files"][0]
    ids = {"message_id": message["id"], "file_id": file["file_id"]}
    own = [each.path for each in OPERATIONS if each.method == "GET"]
    doors = [p for door in DOORS.values() for m, p in (*door.routes, *door.public) if m == "GET"]
    filled = [
        re.sub(r"{(\w+)[^}]*}", lambda name: ids.get(name[1], "x"), path) for path in (*own, *doors)
    ]
    signed = file["url"].removeprefix(caller.server.url)
    return [*filled, *PUBLISHED, "/login", "/nowhere", "/v1/nowhere", signed]


def head_of(server: AgentServer, method: str, path: str) -> dict[str, str]:
    """Status and compared headers of an answer, whose body is not read; what HEAD sends of one is
    none."""
    with connect(server) as connection:
        connection.sendall(head(method, path, "Connection: close"))
        response = http.client.HTTPResponse(connection, method="GET")
        response.begin()
        if method == "HEAD":
            assert response.fp.read() == b"", path
        found = {name: response.getheader(name, "") for name in COMPARED}
        if method == "GET" and not found["content-length"]:
            assert found.pop("transfer-encoding") == "chunked", path
            found["transfer-encoding"] = ""
        return {"status": str(response.status), **found}


def test_head_answers_as_get_on_every_route(server: AgentServer, caller: Caller) -> None:
    differing = {}
    for path in paths(caller):
        by_get, by_head = (head_of(server, method, path) for method in ("GET", "HEAD"))
        if by_get != by_head:
            differing[path] = (by_get, by_head)
    assert differing == {}
