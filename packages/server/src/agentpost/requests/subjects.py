"""Which message a line of the request log is about: its bodies go when the message goes.

A line is about one message at most. An answer that shows several of them is not kept, since it
would have to be taken apart when one of them is deleted.
"""

import json
import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

from agentpost.domain import ids
from agentpost.record.records import RequestRecord
from agentpost.requests.shapes import LEFT_OUT, is_cut

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MESSAGES: Final = "/v1/messages"
_LOG: Final = "/v1/requests/"
_ID: Final = re.compile(rf"{ids.MESSAGE}[0-9a-f]{{32}}")
_REFUSED: Final = range(400, 499)


def with_subject(line: RequestRecord) -> RequestRecord:
    """The line with the id of its message, without the bodies that cannot be told to be of one.

    Those are answers that show several messages, or were cut before the last id; answers of the log
    itself; and a text that was sent without an answer that names the message it became. Of a
    message that was refused the texts are left out: a repeat may become a message, which is deleted
    one day, and nothing says that this was the same one.
    """
    path = line.path.partition("?")[0]
    path = unquote(path) if "%" in path else path
    shows_nothing = line.method in READS or (line.status == 404 and path != _MESSAGES)
    if line.status >= 400 and shows_nothing:
        return line
    request_body, response_body = line.request_body, line.response_body
    if path.startswith(_LOG):
        return replace(line, request_body=None, response_body=None)
    own = _ID.search(path)
    if own is None and line.method == "POST" and path == _MESSAGES and line.status < 400:
        own = _ID.search(response_body or "")  # its id is the first field
    if own is not None:
        return replace(line, message_id=own[0])
    if path == _MESSAGES and line.method not in READS:
        if line.status not in _REFUSED:
            return replace(line, request_body=None, response_body=None)
        line = replace(line, request_body=_without_texts(line.request_body))
    pairs = {*_ID.findall(request_body or ""), *_ID.findall(response_body or "")}
    if len(pairs) > 1 or (pairs and is_cut(response_body)):
        return replace(line, request_body=None, response_body=None)
    return replace(line, message_id=pairs.pop()) if pairs else line


def _without_texts(body: str | None) -> str | None:
    """The fields of a message with nothing that was written; None for what is no JSON."""
    try:
        return None if body is None else json.dumps(_outline(json.loads(body)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _outline(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _outline(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_outline(inner) for inner in value]
    return LEFT_OUT if isinstance(value, str) else value
