"""What the resources of the API look like (spec: Message; Job; File).

Written down from the specification and apart from the server's own shapes, which say more than it
does (`contract/`). Fields and words that are not named here are allowed: the API may grow (spec:
Versioning 2). A field that may be null may be missing, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|\+00:00)")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value must be: ``words`` for a person. ``inner``: what its items must be."""

    words: str
    fits: Callable[[Any], bool]
    inner: Kind | None = None
    fields: Mapping[str, Kind] | None = None
    nullable: bool = False


TEXT: Final = Kind("a string", lambda value: isinstance(value, str))
WHOLE: Final = Kind("a whole number", lambda value: type(value) is int)
NUMBER: Final = Kind("a number", lambda value: type(value) in (int, float))
BOOLEAN: Final = Kind("true or false", lambda value: isinstance(value, bool))
MOMENT: Final = Kind(
    "a UTC time with microseconds and Z",
    lambda value: isinstance(value, str) and TIME.fullmatch(value) is not None,
)
ISO: Final = Kind(
    "an ISO 8601 time in UTC",
    lambda value: isinstance(value, str) and UTC.fullmatch(value) is not None,
)
LINK: Final = Kind(
    "an http(s) address",
    lambda value: isinstance(value, str) and value.startswith(("https://", "http://")),
)
QUOTED: Final = Kind(
    "a quoted entity tag",
    lambda value: isinstance(value, str) and re.fullmatch(r'(W/)?"[^"]*"', value) is not None,
)


def word(*words: str) -> Kind:
    """One of these strings."""
    return Kind(" or ".join(map(repr, words)), lambda value: value in words)


def ident(*prefixes: str) -> Kind:
    """An id with one of these prefixes."""
    return Kind(
        f"an id that begins with {' or '.join(prefixes)}",
        lambda value: (
            isinstance(value, str) and value.startswith(prefixes) and value not in prefixes
        ),
    )


def null_or(kind: Kind) -> Kind:
    """That, or null, or no such field."""
    return Kind(f"{kind.words} or null", kind.fits, kind.inner, kind.fields, nullable=True)


def each(kind: Kind) -> Kind:
    """A list of those."""
    return Kind(f"a list, each {kind.words}", lambda value: isinstance(value, list), kind)


def having(**fields: Kind) -> Kind:
    """An object with these fields."""
    return Kind("an object", lambda value: isinstance(value, dict), fields=fields)


def problems(kind: Kind, value: Any, where: str = "") -> Iterator[str]:
    """What is wrong with a value, each with its place."""
    if value is None and kind.nullable:
        return
    if not kind.fits(value):
        yield f"{where or 'the body'} is not {kind.words}"
        return
    if kind.inner is not None:
        for number, item in enumerate(value):
            yield from problems(kind.inner, item, f"{where}.{number}" if where else str(number))
    for name, field in (kind.fields or {}).items():
        path = f"{where}.{name}" if where else name
        if name in value:
            yield from problems(field, value[name], path)
        elif not field.nullable:
            yield f"{path} is missing"


FILE: Final = having(
    file_id=TEXT,
    name=TEXT,
    content_type=TEXT,
    kind=TEXT,
    size=WHOLE,
    url=LINK,
    revision=QUOTED,
    work_id=TEXT,
    label=null_or(TEXT),
)
JOB: Final = having(
    job_id=ident("exe_", "ref_"),
    kind=word("execution", "refusal"),
    role=word("execution", "follow_up"),
    work_id=TEXT,
    title=TEXT,
    status=word("running", "completed", "failed", "cancelled", "blocked", "expired"),
    reason=null_or(TEXT),
    final=BOOLEAN,
    queued=null_or(BOOLEAN),
    resume_by=null_or(MOMENT),
    link=LINK,
    started_at=null_or(MOMENT),
    settled_at=null_or(MOMENT),
    files=each(FILE),
)
MESSAGE: Final = having(
    id=ident("msg_"),
    object=word("message"),
    status=word(
        "processing", "needs_input", "blocked", "completed", "partial", "failed", "expired"
    ),
    reason=null_or(TEXT),
    question=null_or(TEXT),
    final=BOOLEAN,
    reply=null_or(TEXT),
    jobs=each(JOB),
    files=each(FILE),
    notes=each(TEXT),
    credits_used=NUMBER,
    created_at=MOMENT,
    updated_at=MOMENT,
)
ENTRY: Final = having(seq=WHOLE, type=TEXT, at=MOMENT)
EVENT_LIST: Final = having(
    object=word("list"), data=each(ENTRY), has_more=BOOLEAN, done=BOOLEAN, cursor=TEXT
)
RECOVERY: Final = having(
    id=ident("msg_"),
    object=word("recovery"),
    work=each(
        having(work_id=TEXT, state=word("settled", "watching", "recovering", "exhausted")),
    ),
)
UPLOAD_CREATED: Final = having(
    object=word("upload"),
    upload_id=ident("up_"),
    url=LINK,
    fields=having(),
    expires_at=MOMENT,
    max_bytes=WHOLE,
)
UPLOAD: Final = having(
    object=word("upload"),
    upload_id=ident("up_"),
    status=word("ready"),
    filename=TEXT,
    content_type=TEXT,
    size=WHOLE,
)
WORK: Final = having(
    object=word("work"),
    work_id=TEXT,
    title=TEXT,
    status=TEXT,
    text=TEXT,
    next_from_char=null_or(WHOLE),
    link=LINK,
    files=each(FILE),
)
WORK_LIST: Final = having(
    object=word("list"),
    data=each(having(object=word("work"), work_id=TEXT, title=TEXT, preview=TEXT, link=LINK)),
)
ACCOUNT: Final = having(
    object=word("account"),
    user_id=TEXT,
    email=TEXT,
    name=TEXT,
    plan=TEXT,
    credits=NUMBER,
    agent=having(name=TEXT),
    key=having(id=TEXT, name=TEXT),
    limits=having(running_jobs=WHOLE, requests_per_minute=WHOLE),
)
ENDPOINT: Final = having(
    object=word("webhook_endpoint"),
    id=ident("whe_"),
    url=TEXT,
    events=each(TEXT),
    description=null_or(TEXT),
    created_at=MOMENT,
    disabled_at=null_or(MOMENT),
    disabled_reason=null_or(TEXT),
    failing_since=null_or(MOMENT),
)
DELIVERY: Final = having(
    object=word("webhook_delivery"),
    id=ident("evt_"),
    event=TEXT,
    status=TEXT,
    attempts=WHOLE,
    last_status_code=null_or(WHOLE),
    last_error=null_or(TEXT),
    last_ms=null_or(WHOLE),
    created_at=MOMENT,
    delivered_at=null_or(MOMENT),
    next_attempt_at=null_or(MOMENT),
    message_id=null_or(TEXT),
)
ERROR: Final = having(error=TEXT, message=TEXT, request_id=TEXT, docs=LINK)
