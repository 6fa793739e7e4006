"""Backends of the ports' suites: every adapter of a port runs the same tests."""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agentpost.storage.base import Storage
from agentpost.storage.local import LocalStorage
from agentpost.storage.s3 import S3Storage
from tests.conformance.adapters import backend, db, nodes, pair, postgres_db, scaled, upgraded

__all__ = ["backend", "db", "nodes", "pair", "postgres_db", "scaled", "upgraded"]
REGION = "eu-central-1"


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of an S3 server in this process; credentials are in the environment."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield f"http://{host}:{port}"
    server.stop()


def new_bucket(endpoint: str) -> str:
    """The storage URL of a new bucket there."""
    import boto3

    bucket = f"bucket-{secrets.token_hex(4)}"
    client = boto3.client("s3", endpoint_url=endpoint, region_name=REGION)
    client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    client.close()
    return f"s3://{bucket}/blobs/here?endpoint={endpoint}&region={REGION}"


@pytest.fixture
def s3_url(s3_endpoint: str) -> str:
    """The storage URL of a new bucket."""
    return new_bucket(s3_endpoint)


@pytest.fixture(params=["local", "s3"])
async def open_storage(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Callable[[], Storage]]:
    """Opens the same store as often as it is called, as several processes would."""
    opened: list[Storage] = []
    url = request.getfixturevalue("s3_url") if request.param == "s3" else ""

    def open_another() -> Storage:
        storage: Storage
        if url:
            storage = S3Storage.from_url(url, tmp_path / f"cache{len(opened)}")
        else:
            storage = LocalStorage(tmp_path / "blobs")
        opened.append(storage)
        return storage

    yield open_another
    for storage in opened:
        await storage.aclose()


@pytest.fixture
def storage(open_storage: Callable[[], Storage]) -> Storage:
    """An empty store of each kind."""
    return open_storage()
