"""Files the agent made, and their links (spec: File, getFile)."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from agentpost.verify import shapes
from agentpost.verify.check import ADDITION, Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import Probe, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    differs,
    expect_status,
    refused,
    require,
    summary,
)

RANGE_BYTES = 10


def read_file(probe: Probe) -> Exchange:
    """`GET /v1/files/{id}` of a file the agent made."""
    file_id = quote(str(probe.made_file()["file_id"]), safe="/")
    return probe.caller.call("GET", f"/v1/files/{file_id}")


def link(probe: Probe) -> str:
    """A fresh link to it."""
    return str(usable(read_file(probe), 200).get("url"))


def download(probe: Probe) -> Exchange:
    """Its bytes."""
    return probe.sample("download", lambda: probe.caller.fetch(link(probe)))


def fields(probe: Probe) -> None:
    exchange = read_file(probe)
    file = expect_status(exchange, 200)
    shaped(exchange, shapes.FILE, file)
    require(exchange, file.get("object") == "file", "object file", file.get("object"))
    made = probe.made_file()
    for name in ("file_id", "name", "size", "revision", "work_id"):
        require(exchange, file[name] == made.get(name), f"{name} {made.get(name)}", file[name])


def unknown(probe: Probe) -> None:
    refused(probe.caller.call("GET", f"/v1/files/wrk_{probe.nonce}/a.txt"), 404, "not_found")


def without_key(probe: Probe) -> None:
    exchange = download(probe)
    require(exchange, exchange.status == 200, "the file without a key", summary(exchange))
    size: object = probe.made_file().get("size")
    got = len(exchange.body)
    require(exchange, got == size, f"{size} bytes", got)


def forged(probe: Probe) -> None:
    whole = link(probe)
    parts = urlsplit(whole)
    query = parse_qsl(parts.query, keep_blank_values=True)
    if not query:
        raise NotChecked("the link has no query that could be altered")
    for number, (name, value) in enumerate(query):
        changed = list(query)
        changed[number] = (name, f"{'1' if value[:1] != '1' else '2'}{value[1:]}")
        _not_given(probe, parts._replace(query=urlencode(changed)).geturl(), f"another {name}")
    _not_given(probe, parts._replace(query="").geturl(), "no signature")
    _not_given(probe, parts._replace(path=f"{parts.path}x").geturl(), "another path")


def _not_given(probe: Probe, url: str, what: str) -> None:
    exchange = probe.caller.fetch(url)
    if not 400 <= exchange.status < 500:
        differs(exchange, f"a link with {what} to be refused (4xx)", summary(exchange))


def part(probe: Probe) -> None:
    whole = usable_bytes(probe)
    headers = {"Range": f"bytes=0-{RANGE_BYTES - 1}"}
    exchange = probe.caller.fetch(link(probe), headers)
    if exchange.status == 200:
        raise NotChecked("this deployment gives files as a whole only")
    require(exchange, exchange.status == 206, "status 206", summary(exchange))
    same = exchange.body == whole[:RANGE_BYTES]
    require(exchange, same, f"the first {RANGE_BYTES} bytes", f"{len(exchange.body)} others")


def entity_tag(probe: Probe) -> None:
    usable_bytes(probe)
    exchange = download(probe)
    tag = exchange.headers.get("etag")
    if tag is None:
        raise NotChecked("downloads have no ETag here")
    revision: Json | str = probe.made_file().get("revision", "")
    require(exchange, tag == revision, f"ETag {revision}, the file's revision", tag)


def usable_bytes(probe: Probe) -> bytes:
    """The whole file; `NotChecked` when it could not be downloaded."""
    exchange = download(probe)
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
