"""Uploads that clients post straight to a bucket of an S3-compatible store.

The bytes pass this server only when an agent reads them. boto3 signs the forms and copies objects,
which is what the library that moves our blobs cannot do; it comes with the extra ``s3``.
"""

from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from agentpost.daemon_threads import DaemonThreadExecutor
from agentpost.storage.incoming import Arrived, PostForm, Replaced
from agentpost.storage.s3_bucket import S3Location, response_timeout

_THREADS = 16
_ABANDONED = timedelta(days=1)
_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_OTHER_VERSION = frozenset({"412", "PreconditionFailed"})


class S3Incoming:
    """`Incoming` below ``incoming/`` in the bucket of the blobs. See the port. The bucket answers
    browsers only if its CORS rules allow POST from their pages."""

    def __init__(self, url: str, post_url: str = "") -> None:
        """``url`` as for the blob store; ``post_url``: the bucket's address as clients reach it,
        "" for the one that belongs to ``url``."""
        self._location = S3Location.parse(url)
        self._post_url = post_url
        self._client = _connect(self._location)
        # Own threads: a store that says nothing must hold up neither whatever else blocks, nor the
        # end of the process.
        self._threads = DaemonThreadExecutor("s3-incoming", _THREADS)

    async def form(
        self, upload_id: str, content_type: str, max_bytes: int, expires_at: int, seconds: float
    ) -> PostForm:
        """See `Incoming.form`. Signed here, without asking the store."""
        post: dict[str, Any] = await self._call(
            self._client.generate_presigned_post,
            self._location.bucket,
            self._key(upload_id),
            Fields={"Content-Type": content_type},
            Conditions=[
                {"Content-Type": content_type},
                # From 1: why less than the declared size is allowed stands in `post_policy`.
                ["content-length-range", 1, max_bytes],
            ],
            ExpiresIn=max(round(seconds), 1),
        )
        return PostForm(self._post_url or post["url"], post["fields"])

    async def find(self, upload_id: str) -> Arrived | None:
        """See `Incoming.find`; a version is the store's entity tag."""
        try:
            head = await self._call(
                self._client.head_object, Bucket=self._location.bucket, Key=self._key(upload_id)
            )
        except ClientError as error:
            if _code(error) in _MISSING:
                return None
            raise
        return Arrived(head["ContentLength"], head["ETag"])

    async def snapshot(self, upload_id: str, file: Arrived, key: str) -> None:
        """See `Incoming.snapshot`. The store compares the tag itself and copies on its side."""
        try:
            await self._call(
                self._client.copy_object,
                size=file.size,
                Bucket=self._location.bucket,
                Key=self._location.key(key),
                CopySource={"Bucket": self._location.bucket, "Key": self._key(upload_id)},
                CopySourceIfMatch=file.version,
            )
        except ClientError as error:
            if _code(error) in _MISSING | _OTHER_VERSION:
                raise Replaced from None
            raise

    async def delete(self, upload_id: str) -> None:
        await self._call(
            self._client.delete_object, Bucket=self._location.bucket, Key=self._key(upload_id)
        )

    async def tidy(self) -> None:
        """See `Incoming.tidy`: a post that broke off never became an object, but large blobs are
        sent in parts (`s3`), and the parts of one that broke off are kept, hidden and paid for."""
        await self._threads.run(self._abort_abandoned)  # many calls, and nobody waits for them

    async def _call(self, fn: Any, *args: Any, size: int = 0, **options: Any) -> Any:
        """Raises `TimeoutError` when the store does not answer in time."""
        async with response_timeout(size):
            return await self._threads.run(fn, *args, **options)

    def _abort_abandoned(self) -> None:
        bucket = self._location.bucket
        pages = self._client.get_paginator("list_multipart_uploads")
        for page in pages.paginate(Bucket=bucket, Prefix=self._location.key("")):
            now = parsedate_to_datetime(page["ResponseMetadata"]["HTTPHeaders"]["date"])
            for upload in page.get("Uploads", ()):
                if now - upload["Initiated"] > _ABANDONED:  # both by the store's clock
                    self._client.abort_multipart_upload(
                        Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"]
                    )

    def _key(self, upload_id: str) -> str:
        return self._location.key(f"incoming/{upload_id}")


def _connect(location: S3Location) -> Any:
    style = "virtual" if location.virtual_hosted_style else "path"
    config = Config(
        signature_version="s3v4",
        s3={"addressing_style": style if location.endpoint else "auto"},
        connect_timeout=5,
        read_timeout=60,  # a copy within the store may take a while
        retries={"total_max_attempts": 2},
    )
    return boto3.client(
        "s3",
        endpoint_url=location.endpoint or None,
        region_name=location.region or None,
        config=config,
    )


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
