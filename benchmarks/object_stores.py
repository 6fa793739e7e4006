"""Measures what storing and reading a file costs with each of the two clients of S3.

``python benchmarks/object_stores.py``: an S3 server of moto in another process; CPU time of this
one for an object that is put and got, with obstore, which moves our blobs, and with boto3 on
threads, which signs the forms of uploads.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

BUCKET = "bucket"
REGION = "us-east-1"
CHUNK_BYTES = 256 * 1_024
THREADS = 16
ROUNDS = 3
SIZES = ((20_000, 100), (30_000_000, 3))
"""Bytes of an object, and how many are moved at once."""
Move = Callable[[str, bytes], Awaitable[None]]


def serve(ready: Connection) -> None:
    """An S3 server until its process is ended; tells its address."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    ready.send("http://{}:{}".format(*server.get_host_and_port()))
    time.sleep(3_600)


def moves(url: str) -> dict[str, Move]:
    """How each client puts an object and gets it in pieces."""
    import boto3
    import obstore
    from botocore.config import Config
    from obstore.store import S3Store

    config = Config(s3={"addressing_style": "path"}, max_pool_connections=THREADS)
    client = boto3.client("s3", endpoint_url=url, region_name=REGION, config=config)
    client.create_bucket(Bucket=BUCKET)
    store = S3Store(
        BUCKET,
        config={"endpoint": url, "region": REGION},
        client_options={"allow_http": True},
    )
    threads = ThreadPoolExecutor(THREADS)

    async def by_obstore(key: str, data: bytes) -> None:
        await obstore.put_async(store, key, data, use_multipart=False)
        answer = await obstore.get_async(store, key)
        async for chunk in answer.stream(min_chunk_size=CHUNK_BYTES):
            bytes(chunk)

    async def by_boto3(key: str, data: bytes) -> None:
        call = partial(asyncio.get_running_loop().run_in_executor, threads)
        await call(partial(client.put_object, Bucket=BUCKET, Key=key, Body=data))
        answer: dict[str, Any] = await call(partial(client.get_object, Bucket=BUCKET, Key=key))
        while await call(answer["Body"].read, CHUNK_BYTES):
            pass

    return {"obstore": by_obstore, "boto3": by_boto3}


async def measure(url: str) -> None:
    """Print milliseconds of CPU for an object, the least of `ROUNDS`."""
    by_name = moves(url)
    for size, count in SIZES:
        data = os.urandom(size)
        for name, move in by_name.items():
            costs = []
            for _ in range(ROUNDS):
                begin = time.process_time()
                await asyncio.gather(*(move(f"{name}-{n}", data) for n in range(count)))
                costs.append((time.process_time() - begin) / count * 1_000)
            print(f"{size:>12,} bytes  {name:<8} {min(costs):8.1f} ms")


def main() -> None:
    """The command."""
    os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    asyncio.run(measure(ours.recv()))
    server.terminate()


if __name__ == "__main__":
    main()
