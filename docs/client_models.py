"""Makes the parts of the Python client that follow from the server's own classes: the records it
reads, the words in them, and an error class for every code.

    python docs/client_models.py

Every answer of an operation and every webhook event has a record, so an operation that is new has
one as soon as this has run. The client takes more than the server of today sends: a word that is
not in an enumeration stays plain text, and only the fields in `NEEDED` have to be there.
tests/house/test_generated.py fails when a file is not up to date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from agentpost.api import openapi
from agentpost.api.app import OPERATIONS
from agentpost.contract.errors import CATALOGUE
from agentpost.contract.shape import Shape, schemas
from agentpost.jobs.recovery_rules import RecoveryState
from agentpost.jobs.rules import JobKind, JobRole, JobStatus, Reason
from agentpost.messages.rules import MessageStatus
from agentpost.record.events import EntryType, EventName, JobStateWord, Outcome
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason

PACKAGE = Path(__file__).parents[1] / "clients/python/src/agentpost_client"
NAMES = {
    "AgentShape": "AgentInfo",
    "DeletedEndpointShape": "DeletedWebhookEndpoint",
    "EndpointListShape": "WebhookEndpointList",
    "EndpointShape": "WebhookEndpoint",
    "EndpointWithDeliveriesShape": "WebhookEndpointDetails",
    "ErrorShape": "ErrorBody",
    "EventListShape": "EntryPage",
    "FileObject": "File",
    "KeyShape": "KeyInfo",
    "LimitsShape": "AccountLimits",
    "MessageDeletedShape": "DeletedMessage",
    "NewEndpointShape": "NewWebhookEndpoint",
    "RunningShape": "RunningJob",
    "UploadCreatedShape": "UploadTicket",
    "WorkDeletedShape": "DeletedWork",
}
"""What the client calls them; others lose ``Shape`` from their name."""
NEEDED = {
    "AccountEventList": {"cursor"},
    "DeletedWebhookEndpoint": {"id"},
    "DeletedWork": {"work_id"},
    "Delivery": {"id", "event", "status"},
    "Entry": {"seq", "type"},
    "EntryPage": {"cursor"},
    "ErrorBody": {"error"},
    "File": {"file_id", "name", "url"},
    "Job": {"job_id", "status"},
    "JobEvent": {"type", "data"},
    "JobEventData": {"job_id", "status"},
    "KeyInfo": {"id"},
    "MessageItem": {"id", "status", "final"},
    "LoggedDelivery": {"id", "event", "status"},
    "LoggedRequest": {"id", "method", "path", "status"},
    "LoggedRequestDetails": {"id", "method", "path", "status"},
    "LoggedRequestList": {"cursor"},
    "Message": {"id", "status", "final"},
    "MessageEvent": {"type", "data"},
    "NewWebhookEndpoint": {"id", "url", "secret"},
    "RecoveredWork": {"work_id", "state"},
    "Recovery": {"id"},
    "RotatedSecret": {"id", "secret"},
    "RunningJob": {"job_id"},
    "TestEvent": {"type", "data"},
    "TestEventData": {"webhook_endpoint_id"},
    "Upload": {"upload_id", "status"},
    "UploadTicket": {"upload_id", "url", "fields"},
    "WebhookEndpoint": {"id", "url"},
    "WebhookEndpointDetails": {"id", "url"},
    "Work": {"work_id"},
    "WorkItem": {"work_id"},
    "Account": {"user_id"},
}
"""The fields without which the client cannot go on. A new record needs those called ``id``."""
ENUMERATIONS: dict[str, type[StrEnum]] = {
    "MessageStatus": MessageStatus,
    "JobStatus": JobStatus,
    "JobKind": JobKind,
    "JobRole": JobRole,
    "Reason": Reason,
    "EntryType": EntryType,
    "Outcome": Outcome,
    "JobChange": JobStateWord,
    "EventName": EventName,
    "DeliveryStatus": DeliveryStatus,
    "DisabledReason": DisabledReason,
    "RecoveryState": RecoveryState,
}
"""Their names in the client. Words that have no class in the server are named by the record and
the field."""
WORDS = {
    ("Message", "reason"): "Reason",
    ("MessageItem", "reason"): "Reason",
    ("Job", "reason"): "Reason",
    ("JobEventData", "reason"): "Reason",
    ("Entry", "type"): "EntryType",
    ("MessageEvent", "type"): "EventName",
    ("JobEvent", "type"): "EventName",
}
"""Fields whose known words the description leaves open, because there may be more at any time."""
MORE = {
    "Message": '''
    @property
    def is_agent_busy(self) -> bool:
        """Nothing ran because of another message; the same request may be sent again."""
        return self.status == "failed" and self.reason == "agent_busy"

    @property
    def text(self) -> str | None:
        """The text to show a person: the open question, else the results of the jobs that have
        ended, else the reply."""
        results = [job.text for job in self.jobs if job.text]
        return self.question or "\\n\\n".join(results) or self.reply
''',
    "Entry": '''\
    cursor: str | None = None
    """Set by `Client.follow`: with it and ``seq`` a later call goes on from here."""
''',
}
"""What the client knows besides."""
MADE = "Made by docs/client_models.py from the classes that the server answers with; change those."
MODELS_HEAD = f'''\
"""The records a caller reads, as the API's description names their fields.

{MADE}

All are frozen. They are made for servers newer than this client: unknown fields are kept (as
attributes), an unknown word such as a new ``status`` is plain text, and an optional field that is
null or missing has its default. ``raw`` is the JSON object as it came. Rely on ``Message.final``,
not on its ``status``, for "finished". ``File.url`` expires; `Client.download` renews it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
%s
from agentpost_client.enums import (
%s)
from agentpost_client.records import Record
'''
ENUMS_HEAD = f'''\
"""The words that records hold, as enumerations whose members are text.

{MADE}

``message.status == MessageStatus.COMPLETED`` and ``message.status == "completed"`` mean the same.
A server newer than this client may use further words; those stay plain text.
"""

from __future__ import annotations

from enum import StrEnum
'''
ERRORS_HEAD = '''\
"""A class for every code the API refuses a request with.

Made by docs/client_models.py from the server's catalogue of errors; change that.
"""

from __future__ import annotations

from typing import ClassVar

from agentpost_client.api_error import ApiError
'''
ERRORS_FOOT = '''

BY_CODE: dict[str, type[ApiError]] = {
%s}
"""Code -> its class. A code that is not here is raised as an `ApiError`."""
'''
COLUMNS = 100
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
EMPTY = {"str": '""', "int": "0", "float": "0", "bool": "False"}


def files() -> dict[str, str]:
    """Name in the package -> the whole file."""
    document = openapi.document(OPERATIONS, "/")
    found = {
        name: schema
        for name, schema in document["components"]["schemas"].items()
        if not name.endswith("In") and name != "FileShape"
    }
    words = Words()
    classes = "".join(models(found, words))
    imported = "".join(f"    {name},\n" for name in sorted(words.used))
    anything = "from typing import Any\n" if ": Any" in classes or "Any]" in classes else ""
    return {
        "models.py": MODELS_HEAD % (anything, imported) + classes,
        "enums.py": ENUMS_HEAD + "".join(words.classes()),
        "refusals.py": ERRORS_HEAD + "".join(_error_classes()),
    }


class Words:
    """The enumerations by their words, those without a class of the server included."""

    def __init__(self) -> None:
        self._names = {frozenset(map(str, each)): name for name, each in ENUMERATIONS.items()}
        self._words = {name: [str(word) for word in each] for name, each in ENUMERATIONS.items()}
        self.used: dict[str, list[str]] = {}

    def name(self, words: Sequence[str], model: str, field: str) -> str:
        """What an enumeration is called; a new one by where it is met first."""
        known = frozenset(words)
        if known not in self._names:
            self._names[known] = model + field.title().replace("_", "")
            self._words[self._names[known]] = list(words)
        return self.use(self._names[known], model, field)

    def use(self, name: str, model: str, field: str) -> str:
        """The same name, with its import asked for."""
        self.used.setdefault(name, []).append(f"``{model}.{field}``")
        return name

    def classes(self) -> Iterator[str]:
        for name, words in self._words.items():
            lines = "".join(f'    {_constant(word)} = "{word}"\n' for word in words)
            about = wrapped(f"The known words of {', '.join(self.used[name])}.", 4)
            yield f'\n\nclass {name}(StrEnum):\n    """{about}"""\n\n{lines}'


@dataclass(frozen=True)
class Known:
    """What the type of a field may refer to; ``bare`` are the records that need no field."""

    refs: Mapping[str, str]
    bare: Container[str]
    words: Words


def models(found: Mapping[str, Mapping[str, Any]], words: Words | None = None) -> list[str]:
    """A class for each schema; one comes behind those that its defaults need."""
    refs = {f"#/components/schemas/{name}": client_name(name) for name in (*found, "FileShape")}
    bare = {
        client_name(name)
        for name, schema in found.items()
        if not needed(client_name(name)) & schema["properties"].keys()
    }
    known = Known(refs, bare, words or Words())
    return [_model(found[name], client_name(name), known) for name in _ordered(found)]


def models_of(shapes: Sequence[type[Shape]]) -> list[str]:
    """The same for some shapes and what they consist of."""
    return models({name: each for name, each in schemas(shapes).items() if name != "FileShape"})


def client_name(name: str) -> str:
    """What the client calls a schema."""
    return NAMES.get(name, name.removesuffix("Shape"))


def needed(model: str) -> set[str]:
    """The fields a record cannot do without."""
    return NEEDED.get(model, {"id"})


def _ordered(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    ordered: list[str] = []

    def add(name: str) -> None:
        for part in found[name]["properties"].values():
            target = str(part.get("$ref", "")).rpartition("/")[2]
            if target in found:
                add(target)
        if name not in ordered:
            ordered.append(name)

    for name in sorted(found, key=client_name):
        add(name)
    return ordered


def _model(schema: Mapping[str, Any], name: str, known: Known) -> str:
    lines = ["\n", "@dataclass(frozen=True, kw_only=True)", f"class {name}(Record):"]
    lines += [f'    """{wrapped(schema["description"], 4)}"""', ""]
    for field, part in schema["properties"].items():
        if field == "object":
            continue  # says which class it is
        kind = _field_type(name, field, part, known)
        default = _default(kind, part, field in schema["required"], known)
        lines.append(f"    {field}: {kind if field in needed(name) else default}")
        if "description" in part:
            lines.append(f'    """{wrapped(part["description"], 4)}"""')
    return "\n".join(lines) + "\n" + MORE.get(name, "")


def _field_type(model: str, field: str, part: Mapping[str, Any], known: Known) -> str:
    """The type of a field when it is there."""
    if (model, field) in WORDS:
        return f"{known.words.use(WORDS[model, field], model, field)} | str"
    kinds = [each for each in part.get("anyOf", [part]) if each.get("type") != "null"]
    if "enum" in kinds[0]:
        return f"{known.words.name(kinds[0]['enum'], model, field)} | str"
    return _type(kinds[0], known.refs)


def _default(kind: str, part: Mapping[str, Any], always: bool, known: Known) -> str:
    """The type with the value of a field that is null or missing."""
    if kind.startswith("tuple"):
        return f"{kind} = ()"
    if kind.startswith("dict"):
        return f"{kind} = field(default_factory=dict)"
    text = kind.partition(" | ")[2] or kind  # of an enumeration
    is_set = always and "anyOf" not in part
    if kind == "bool" or (is_set and text in EMPTY):
        return f"{kind} = {EMPTY[text]}"
    if is_set and kind in known.bare:
        return f"{kind} = {kind}()"
    return "Any = None" if kind == "Any" else f"{kind} | None = None"


def _type(part: Mapping[str, Any], refs: Mapping[str, str]) -> str:
    if "$ref" in part:
        return refs[part["$ref"]]
    if part.get("type") == "array":
        return f"tuple[{_type(part['items'], refs)}, ...]"
    if part.get("type") == "object":
        values = part.get("additionalProperties")
        return f"dict[str, {_type(values, refs) if isinstance(values, dict) else 'Any'}]"
    if part.get("format") == "date-time":
        return "datetime"
    return PLAIN.get(part.get("type", ""), "Any")


def _error_classes() -> Iterator[str]:
    classes: dict[str, str] = {}
    for code, entry in CATALOGUE.items():
        classes[code] = "".join(part.title() for part in code.split("_"))
        line = f'    hint: ClassVar[str] = "{entry.advice}"\n'
        if len(line) > COLUMNS:
            text = wrapped(entry.advice, 8, '"\n        "')
            line = f'    hint: ClassVar[str] = (\n        "{text}"\n    )\n'
        meaning = wrapped(entry.meaning, 4)
        yield f'\n\nclass {classes[code]}(ApiError):\n    """{meaning}"""\n\n{line}'
    yield ERRORS_FOOT % "".join(f'    "{code}": {name},\n' for code, name in classes.items())


def wrapped(text: str, indent: int, joint: str = "") -> str:
    """The text in lines short enough for a docstring or, with a ``joint``, for literals."""
    lines = textwrap.wrap(text, COLUMNS - indent - 6, break_on_hyphens=False)
    return (f" {joint}" if joint else "\n" + " " * indent).join(lines)


def _constant(word: str) -> str:
    return word.upper().replace(".", "_").replace("-", "_")


if __name__ == "__main__":
    for name, text in files().items():
        (PACKAGE / name).write_text(text, "utf-8")
