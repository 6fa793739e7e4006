"""The W3C trace context of a request: kept with the message, given back, passed on with events."""

import re

from agentpost.domain.limits import TRACEPARENT_CHARACTERS_MAX

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-[!-~]*)?")


def valid(traceparent: str | None) -> str | None:
    """The header's value, or None when it is none: a broken one is as good as absent.

    Version 00 has four parts; a later one may add more, and ``ff`` is no version. Ids of noughts
    name nothing.
    """
    if traceparent is None or len(traceparent) > TRACEPARENT_CHARACTERS_MAX:
        return None
    match = _TRACEPARENT.fullmatch(traceparent.strip())
    if match is None:
        return None
    version, trace, parent, more = match.groups()
    if version == "ff" or (version == "00" and more is not None):
        return None
    if not trace.strip("0") or not parent.strip("0"):
        return None
    return match[0]
