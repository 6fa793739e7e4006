"""The headers of every page: what it may load and run, and what other sites learn."""

from __future__ import annotations

from urllib.parse import urlsplit

from agentpost.settings import Settings


def headers(settings: Settings) -> dict[str, str]:
    """The headers. Scripts and styles come from our own files only; pictures, films and framed
    pages may come from where files are served, uploads go where this server takes them."""
    files = _origin(settings.public_file_url)
    uploads = _origin(settings.public_upload_url)
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


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
