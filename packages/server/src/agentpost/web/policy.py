"""The headers of every page: what it may load and run, and what other sites learn."""

from urllib.parse import urlsplit

from agentpost.settings import Settings
from agentpost.storage.s3_bucket import S3Location


def headers(settings: Settings) -> dict[str, str]:
    """The headers. Scripts and styles come from our own files only; pictures, films and framed
    pages may come from where files are served, uploads go where this server takes them."""
    files = _origin(settings.public_file_url)
    uploads = " ".join(_upload_targets(settings))
    policy = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        f"img-src 'self' data: {files}",
        f"media-src 'self' {files}",
        f"connect-src 'self' {uploads}",
        f"frame-src 'self' {files}",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        # Other sites learn nothing. Not "no-referrer": that would blank the Origin of our own
        # forms, by which they are told from foreign ones where browsers send no Sec-Fetch-Site
        # (plain HTTP).
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }


def _upload_targets(settings: Settings) -> list[str]:
    """Where the composer posts files: to this server, or straight to the bucket."""
    if settings.upload_url or not settings.storage_url:
        return [_origin(settings.public_upload_url)]
    bucket = S3Location.parse(settings.storage_url)
    if bucket.endpoint:
        parts = urlsplit(bucket.endpoint)
        return [_origin(bucket.endpoint), f"{parts.scheme}://{bucket.bucket}.{parts.netloc}"]
    hosts = ["s3.amazonaws.com", *([f"s3.{bucket.region}.amazonaws.com"] if bucket.region else [])]
    return [f"https://{name}" for host in hosts for name in (host, f"{bucket.bucket}.{host}")]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
