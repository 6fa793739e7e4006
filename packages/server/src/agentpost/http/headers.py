"""Read the headers of a request.

ASGI gives them as pairs of bytes, the names in lower case. Starlette's `Headers` decodes and
compares them anew for each look, through three calls: with half a dozen looks at each request that
was a visible part of its cost.
"""

from starlette.requests import Request


def header(request: Request, name: bytes) -> str | None:
    """The first header of that name, which is in lower case; None without one."""
    for header_name, value in request.scope["headers"]:
        if header_name == name:
            return str(value, "latin-1")
    return None


def headers(request: Request, name: bytes) -> list[str]:
    """Every header of that name, which is in lower case, as they came."""
    return [
        str(value, "latin-1")
        for header_name, value in request.scope["headers"]
        if header_name == name
    ]
