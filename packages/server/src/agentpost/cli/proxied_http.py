"""HTTP clients of commands that use the proxies of the environment and tell as `agentpost_client`
does which cannot be used. Entries of NO_PROXY with a port or a scheme are read as httpx2 reads
them."""

from typing import Any, Final, NoReturn, TypeVar

import httpx2

from agentpost_client.proxies import Routes

H = TypeVar("H", httpx2.Client, httpx2.AsyncClient)
_LOOPBACK: Final = ("all://localhost", "all://127.0.0.0/8", "all://[::1]")


def open_http(kind: type[H], url: str, **options: Any) -> H:
    """``kind(**options)`` for the server at ``url``; raises `ConfigError` as `Routes` does."""
    routes = Routes(url)
    options.setdefault("verify", httpx2.create_ssl_context())
    mounts: dict[str, Any] = dict.fromkeys(_LOOPBACK)
    if routes.problem is None:
        return kind(mounts=mounts, **options)
    mounts |= {"all://": _Refusing(routes.problem), f"all://{routes.server.place}": None}
    return kind(mounts=mounts, trust_env=False, **options)


class _Refusing(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Stands where requests would go through a proxy that cannot be used."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def handle_request(self, request: httpx2.Request) -> NoReturn:
        raise httpx2.UnsupportedProtocol(self._problem, request=request)

    async def handle_async_request(self, request: httpx2.Request) -> NoReturn:
        self.handle_request(request)
