"""What the resources of the API look like (spec: Message; Job; File).

Written down from the specification and apart from the server's own shapes, which say more than it
does (`contract/`). Fields and words that are not named here are allowed: the API may grow (spec:
Versioning 2). A field that may be null may be missing, too.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value must be: ``words`` for a person."""

    words: str
    fits: Callable[[Any], bool]


Shape: TypeAlias = Kind | list["Shape"] | dict[str, "Shape"]
"""A kind, a list with each item of a shape, or an object with the shapes of its fields. A question
mark behind a field's name: it may be null or missing."""


def text(words: str, pattern: str = r"(?s).*") -> Kind:
    """A string that fits a pattern."""
    return Kind(words, lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value)))


MOMENT: Final = text("a UTC time with microseconds and Z",
                     r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")  # fmt: skip
KINDS: Final = {
    "text": text("a string"),
    "link": text("an http(s) address", r"(?s)https?://.*"),
    "moment": MOMENT,
    "iso": text("an ISO 8601 time in UTC", r"\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|\+00:00)"),
    "tag": text("a quoted entity tag", r'(W/)?"[^"]*"'),
    "whole": Kind("a whole number", lambda value: type(value) is int),
    "number": Kind("a number", lambda value: type(value) in (int, float)),
    "flag": Kind("true or false", lambda value: isinstance(value, bool)),
}
_LIST: Final = Kind("a list", lambda value: isinstance(value, list))
_OBJECT: Final = Kind("an object", lambda value: isinstance(value, dict))


def word(*words: str) -> Kind:
    """One of these strings."""
    return Kind(" or ".join(map(repr, words)), lambda value: value in words)


def ident(*prefixes: str) -> Kind:
    """An id with one of these prefixes."""
    return text(f"an id that begins with {' or '.join(prefixes)}", f"(?s)({'|'.join(prefixes)}).+")


def having(**fields: Shape | str) -> dict[str, Shape]:
    """An object with these fields: the shape of each by its name, or for one of `KINDS` the names
    of its fields."""
    shapes: dict[str, Shape] = {}
    for name, shape in fields.items():
        if isinstance(shape, str):
            shapes |= dict.fromkeys(shape.split(), KINDS[name])
        else:
            shapes[name] = shape
    return shapes


def problems(shape: Shape, value: Any, where: str = "") -> Iterator[str]:
    """What is wrong with a value, each with its place."""
    kind = _LIST if isinstance(shape, list) else _OBJECT if isinstance(shape, dict) else shape
    prefix = f"{where}." if where else ""
    if not kind.fits(value):
        yield f"{where or 'the body'} is not {kind.words}"
    elif isinstance(shape, list):
        for number, item in enumerate(value):
            yield from problems(shape[0], item, f"{prefix}{number}")
    elif isinstance(shape, dict):
        for field, inner in shape.items():
            name = field.rstrip("?")
            if name in value and (value[name] is not None or name == field):
                yield from problems(inner, value[name], f"{prefix}{name}")
            elif name == field:
                yield f"{prefix}{name} is missing"


FILE: Final = having(
    text="file_id name content_type kind work_id label?", whole="size", link="url", tag="revision"
)
JOB: Final = having(
    job_id=ident("exe_", "ref_"),
    kind=word("execution", "refusal"),
    role=word("execution", "follow_up"),
    status=word("running", "completed", "failed", "cancelled", "blocked", "expired"),
    text="work_id title reason?",
    flag="final queued?",
    moment="resume_by? started_at? settled_at?",
    link="link",
    files=[FILE],
)
MESSAGE: Final = having(
    id=ident("msg_"),
    object=word("message"),
    status=word(
        "processing", "needs_input", "blocked", "completed", "partial", "failed", "expired"
    ),
    text="reason? question? reply?",
    flag="final",
    jobs=[JOB],
    files=[FILE],
    notes=[KINDS["text"]],
    number="credits_used",
    moment="created_at updated_at",
)
ENTRY: Final = having(whole="seq", text="type", moment="at")
EVENT_LIST: Final = having(object=word("list"), data=[ENTRY], flag="has_more done", text="cursor")
RECOVERED_WORK: Final = having(
    text="work_id", state=word("settled", "watching", "recovering", "exhausted")
)
RECOVERY: Final = having(id=ident("msg_"), object=word("recovery"), work=[RECOVERED_WORK])
UPLOAD_CREATED: Final = having(
    object=word("upload"), upload_id=ident("up_"), fields=having(), link="url",
    moment="expires_at", whole="max_bytes",
)  # fmt: skip
UPLOAD: Final = having(
    object=word("upload"), upload_id=ident("up_"), status=word("ready"),
    text="filename content_type", whole="size",
)  # fmt: skip
WORK: Final = having(
    object=word("work"), text="work_id title status text", whole="next_from_char?", link="link",
    files=[FILE],
)  # fmt: skip
WORK_LIST: Final = having(
    object=word("list"),
    data=[having(object=word("work"), text="work_id title preview", link="link")],
)
ACCOUNT: Final = having(
    object=word("account"), text="user_id email name plan", number="credits",
    agent=having(text="name"), key=having(text="id name"),
    limits=having(whole="running_jobs requests_per_minute"),
)  # fmt: skip
ENDPOINT: Final = having(
    object=word("webhook_endpoint"), id=ident("whe_"), text="url description? disabled_reason?",
    events=[KINDS["text"]], moment="created_at disabled_at? failing_since?",
)  # fmt: skip
DELIVERY: Final = having(
    object=word("webhook_delivery"), id=ident("evt_"), text="event status last_error? message_id?",
    whole="attempts last_status_code? last_ms?", moment="created_at delivered_at? next_attempt_at?",
)  # fmt: skip
ENDPOINT_LIST: Final = having(object=word("list"), data=[ENDPOINT])
ENDPOINT_READ: Final[Shape] = {**ENDPOINT, "recent_deliveries": [DELIVERY]}
ENVELOPE: Final = having(text="type", iso="timestamp", data=having())
ERROR: Final = having(text="error message request_id", link="docs")
