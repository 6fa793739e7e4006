"""Files the agent made, and their links (spec: File, getFile)."""

from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange, Json
from agentpost_verify.probe import Probe
from agentpost_verify.samples import one_answer

RANGE_BYTES = 10


def read_file(probe: Probe, file: Json) -> Exchange:
    """`GET /v1/files/{id}`."""
    return probe.call("GET", f"/v1/files/{quote(str(file['file_id']), safe='/')}")


def link_to(probe: Probe, file: Json) -> str:
    """A fresh link to a file."""
    return str(read_file(probe, file).sample().get("url"))


@pytest.fixture(scope="session")
def download(probe: Probe, agent_file: Json) -> Exchange:
    """The answer that has the bytes of a file."""
    return probe.fetch(link_to(probe, agent_file))


@pytest.fixture(scope="session")
def content(download: Exchange) -> bytes:
    """The whole file; skips when it could not be downloaded."""
    if download.status != 200:
        pytest.skip(f"the download answered {download.outcome}")
    return download.body


def test_fields(probe: Probe, agent_file: Json) -> None:
    """A file is read with every field and a fresh link. (File)"""
    file = read_file(probe, agent_file).expect("200", shape=shapes.FILE)
    assert file.get("object") == "file", "object file"
    for name in ("file_id", "name", "size", "revision", "work_id"):
        assert file[name] == agent_file.get(name), f"{name} {agent_file.get(name)}"


test_unknown = one_answer(
    "An unknown file is not_found. (getFile)", "404 not_found", "GET /v1/files/wrk_{nonce}/a.txt"
)


def test_without_key(agent_file: Json, download: Exchange) -> None:
    """A link gives the whole file without a key. (getFile)"""
    assert download.status == 200, f"the file without a key, not {download.outcome}"
    assert len(download.body) == agent_file.get("size"), f"{agent_file.get('size')} bytes"


def test_forged(probe: Probe, agent_file: Json) -> None:
    """A link with anything altered is refused. (File)"""
    parts = urlsplit(link_to(probe, agent_file))
    query = parse_qsl(parts.query, keep_blank_values=True)
    if not query:
        pytest.skip("the link has no query that could be altered")
    forgeries = {
        "no signature": parts._replace(query=""),
        "another path": parts._replace(path=f"{parts.path}x"),
    }
    for place, (name, text) in enumerate(query):
        other = (name, f"{'2' if text[:1] == '1' else '1'}{text[1:]}")
        forged_query = urlencode([*query[:place], other, *query[place + 1 :]])
        forgeries[f"another {name}"] = parts._replace(query=forged_query)
    for change, forgery in forgeries.items():
        probe.fetch(forgery.geturl()).expect_refusal(f"a link with {change}")


def test_part(probe: Probe, agent_file: Json, content: bytes) -> None:
    """A range of a file can be asked for. (addition)"""
    exchange = probe.fetch(link_to(probe, agent_file), range=f"bytes=0-{RANGE_BYTES - 1}")
    if exchange.status == 200:
        pytest.skip("this deployment gives files as a whole only")
    assert exchange.status == 206, f"status 206, not {exchange.outcome}"
    assert exchange.body == content[:RANGE_BYTES], f"the first {RANGE_BYTES} bytes"


@pytest.mark.usefixtures("content")
def test_entity_tag(agent_file: Json, download: Exchange) -> None:
    """The revision is the file's entity tag. (File)"""
    if "etag" not in download.headers:
        pytest.skip("downloads have no ETag here")
    assert download.headers["etag"] == agent_file.get("revision"), "the revision as ETag"
