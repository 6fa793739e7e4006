"""Which message a line of the request log is about: its bodies go when the message goes.

A line is about one message at most. An answer that shows several of them is not kept, since it
would have to be taken apart when one of them is deleted.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from agentpost.domain import ids
from agentpost.record.records import RequestRecord
from agentpost.requests.shapes import is_cut

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MESSAGES: Final = "/v1/messages"
_LOG: Final = "/v1/requests/"
_ID: Final = re.compile(rf"{ids.MESSAGE}[0-9a-f]{{32}}")
_REFUSED: Final = range(400, 499)


def with_subject(line: RequestRecord) -> RequestRecord:
    """The line with the id of its message, without the bodies that cannot be told to be of one.

    Those are answers that show several messages, or were cut before the last id; answers of the log
    itself; and a text that was sent without an answer that names the message it became.
    """
    if line.status == 404 or (line.status >= 400 and line.method in READS):
        return line  # shows nothing of a message
    path, request_body, response_body = (
        line.path.partition("?")[0],
        line.request_body,
        line.response_body,
    )
    path = unquote(path) if "%" in path else path
    if path.startswith(_LOG):
        return replace(line, request_body=None, response_body=None)
    own = _ID.search(path)
    if own is None and line.method == "POST" and path == _MESSAGES and line.status < 400:
        own = _ID.search(response_body or "")  # its id is the first field
    if own is not None:
        return replace(line, message_id=own[0])
    if path == _MESSAGES and line.method not in READS and line.status not in _REFUSED:
        return replace(line, request_body=None, response_body=None)
    pairs = {*_ID.findall(request_body or ""), *_ID.findall(response_body or "")}
    if len(pairs) > 1 or (pairs and is_cut(response_body)):
        return replace(line, request_body=None, response_body=None)
    return replace(line, message_id=pairs.pop()) if pairs else line
