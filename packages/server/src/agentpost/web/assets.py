"""Static files: each has an address with the hash of its content, so browsers keep it for good.

They are compressed once, when they are first asked for. The vendored ones are listed with licence
and hash in `static/vendored.toml`.
"""

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from agentpost.domain.errors import not_found

FOLDER: Final = Path(__file__).with_name("static")
PATH: Final = "/static/{hash}/{name}"
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOREVER: Final = "public, max-age=31536000, immutable"


class _Asset:
    def __init__(self, name: str) -> None:
        self.content = (FOLDER / name).read_bytes()
        self.zipped = gzip.compress(self.content, 9, mtime=0)
        self.hash = hashlib.sha256(self.content).hexdigest()[:16]
        self.type = _TYPES[Path(name).suffix]


_asset = cache(_Asset)


@cache
def names() -> frozenset[str]:
    """The files that are served."""
    return frozenset(path.name for path in FOLDER.iterdir() if path.suffix in _TYPES)


def address(name: str) -> str:
    """The path of a file, without that of the app's public URL."""
    return PATH.format(hash=_asset(name).hash, name=name)


async def serve(request: Request) -> Response:
    """A file; raises ``not_found``, also for an address with another hash."""
    name: str = request.path_params["name"]
    if name not in names() or _asset(name).hash != request.path_params["hash"]:
        raise not_found("file")
    asset = _asset(name)
    headers = {
        "Cache-Control": _FOREVER,
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if accepts_gzip(request):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.zipped, headers=headers, media_type=asset.type)
    return Response(asset.content, headers=headers, media_type=asset.type)


def accepts_gzip(request: Request) -> bool:
    """Whether the browser takes compressed answers."""
    accepted = request.headers.get("accept-encoding", "").lower()
    return any(part.strip() == "gzip" for part in accepted.split(","))
