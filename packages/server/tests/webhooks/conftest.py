"""The servers and guarded ways out that the sender's tests share with those of `egress`."""

from tests.egress.conftest import egress, serve

__all__ = ["egress", "serve"]
