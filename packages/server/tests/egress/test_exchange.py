"""Requests whose whole answer is wanted, from servers that break the protocol (design: The way
out)."""

import pytest

from agentpost.egress.client import Answer, Egress
from agentpost.egress.errors import FetchFailed
from tests.egress.conftest import MakeEgress, Serve
from tests.egress.hostile import OK, breaks, floods


async def exchange(client: Egress, url: str) -> Answer:
    return await client.exchange("POST", url, {}, b"{}", max_bytes=1_000, seconds=30)


@pytest.mark.parametrize("piece", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Hints\r\n\r\n"])
async def test_a_flood_of_interim_answers_is_cut_short(
    egress: MakeEgress, serve: Serve, piece: bytes
) -> None:
    server = await serve(floods(b"", piece * 1_000))
    with pytest.raises(FetchFailed, match="not valid HTTP"):
        await exchange(egress(server.entry), server.url())


@pytest.mark.parametrize(
    ("answered", "sent_anew"), [(b"", True), (b"HTTP/1.1 50", False), (OK, False)]
)
async def test_a_kept_connection_that_breaks(
    egress: MakeEgress, serve: Serve, answered: bytes, sent_anew: bool
) -> None:
    """Closed while idle: sent anew at once. But who has begun to answer has got the request."""
    server = await serve(breaks(answered, b"whole"))
    client = egress(server.entry)
    assert await exchange(client, server.url()) == Answer(200, b"whole")
    if sent_anew:
        assert await exchange(client, server.url()) == Answer(200, b"whole")
    else:
        with pytest.raises(FetchFailed, match="broke off"):
            await exchange(client, server.url())
    assert len(server.requests) == 2 + sent_anew
