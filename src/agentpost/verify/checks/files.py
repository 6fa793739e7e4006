"""Files the agent made, and their links (spec: File, getFile)."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from agentpost.verify import shapes
from agentpost.verify.check import ADDITION, Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    answered,
    differs,
    refused,
    require,
    summary,
)
from agentpost.verify.visit import Visit, usable

RANGE_BYTES = 10


def read_file(visit: Visit) -> Exchange:
    """`GET /v1/files/{id}` of a file the agent made."""
    file_id = quote(str(visit.made_file()["file_id"]), safe="/")
    return visit.caller.call("GET", f"/v1/files/{file_id}")


def link(visit: Visit) -> str:
    """A fresh link to it."""
    return str(usable(read_file(visit), 200).get("url"))


def download(visit: Visit) -> Exchange:
    """Its bytes."""
    return visit.sample("download", lambda: visit.caller.fetch(link(visit)))


def fields(visit: Visit) -> None:
    exchange = read_file(visit)
    file = answered(exchange, 200)
    shaped(exchange, shapes.FILE, file)
    require(exchange, file.get("object") == "file", "object file", file.get("object"))
    made = visit.made_file()
    for name in ("file_id", "name", "size", "revision", "work_id"):
        require(exchange, file[name] == made.get(name), f"{name} {made.get(name)}", file[name])


def unknown(visit: Visit) -> None:
    refused(visit.caller.call("GET", f"/v1/files/wrk_{visit.nonce}/a.txt"), 404, "not_found")


def without_key(visit: Visit) -> None:
    exchange = download(visit)
    require(exchange, exchange.status == 200, "the file without a key", summary(exchange))
    size: object = visit.made_file().get("size")
    got = len(exchange.body)
    require(exchange, got == size, f"{size} bytes", got)


def forged(visit: Visit) -> None:
    whole = link(visit)
    parts = urlsplit(whole)
    query = parse_qsl(parts.query, keep_blank_values=True)
    if not query:
        raise NotChecked("the link has no query that could be altered")
    for number, (name, value) in enumerate(query):
        changed = list(query)
        changed[number] = (name, f"{'1' if value[:1] != '1' else '2'}{value[1:]}")
        _not_given(visit, parts._replace(query=urlencode(changed)).geturl(), f"another {name}")
    _not_given(visit, parts._replace(query="").geturl(), "no signature")
    _not_given(visit, parts._replace(path=f"{parts.path}x").geturl(), "another path")


def _not_given(visit: Visit, url: str, what: str) -> None:
    exchange = visit.caller.fetch(url)
    if not 400 <= exchange.status < 500:
        differs(exchange, f"a link with {what} to be refused (4xx)", summary(exchange))


def part(visit: Visit) -> None:
    whole = usable_bytes(visit)
    headers = {"Range": f"bytes=0-{RANGE_BYTES - 1}"}
    exchange = visit.caller.fetch(link(visit), headers)
    if exchange.status == 200:
        raise NotChecked("this deployment gives files as a whole only")
    require(exchange, exchange.status == 206, "status 206", summary(exchange))
    same = exchange.body == whole[:RANGE_BYTES]
    require(exchange, same, f"the first {RANGE_BYTES} bytes", f"{len(exchange.body)} others")


def entity_tag(visit: Visit) -> None:
    usable_bytes(visit)
    exchange = download(visit)
    tag = exchange.headers.get("etag")
    if tag is None:
        raise NotChecked("downloads have no ETag here")
    revision: Json | str = visit.made_file().get("revision", "")
    require(exchange, tag == revision, f"ETag {revision}, the file's revision", tag)


def usable_bytes(visit: Visit) -> bytes:
    """The whole file; `NotChecked` when it could not be downloaded."""
    exchange = download(visit)
    if exchange.status != 200:
        raise NotChecked(f"the download answered {summary(exchange)}")
    return exchange.body


GROUP = Group(
    "files",
    "files and their links",
    (
        Check("fields", "A file is read with every field and a fresh link.", "File", fields),
        Check("unknown", "An unknown file is not_found.", "getFile", unknown),
        Check("without-key", "A link gives the whole file without a key.", "getFile",
              without_key),
        Check("forged", "A link with anything altered is refused.", "File", forged),
        Check("part", "A range of a file can be asked for.", ADDITION, part),
        Check("entity-tag", "The revision is the file's entity tag.", "File", entity_tag),
    ),
    sends=("job",),
)  # fmt: skip
