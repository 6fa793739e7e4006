"""Prints the records of the Python client, made from the classes that the server answers with.

    python docs/client_models.py > clients/python/src/agentpost_client/models.py

The client takes more than the server of today sends: words are plain strings, and only the fields
in `NEEDED` have to be there. tests/house/test_client_models.py fails when the file is not up to
date.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentpost.contract.account import AccountShape, AgentShape, KeyShape, LimitsShape
from agentpost.contract.errors import ErrorShape, ProblemShape
from agentpost.contract.events import EntryShape, EventListShape
from agentpost.contract.message import FileShape, JobShape, MessageShape, RunningShape
from agentpost.contract.shape import Shape, schemas
from agentpost.contract.uploads import UploadCreatedShape, UploadShape
from agentpost.contract.work import WorkItemShape, WorkListShape, WorkShape

MODELS: dict[type[Shape], str] = {
    FileShape: "File",
    JobShape: "Job",
    RunningShape: "RunningJob",
    MessageShape: "Message",
    EntryShape: "Entry",
    EventListShape: "EntryPage",
    WorkShape: "Work",
    WorkItemShape: "WorkItem",
    WorkListShape: "WorkList",
    UploadCreatedShape: "UploadTicket",
    UploadShape: "Upload",
    AgentShape: "AgentInfo",
    KeyShape: "KeyInfo",
    LimitsShape: "AccountLimits",
    AccountShape: "Account",
    ProblemShape: "Problem",
    ErrorShape: "ErrorBody",
}
"""What the client calls them; a class stands behind those it refers to."""
NEEDED = {
    "File": {"file_id", "name", "url"},
    "Job": {"job_id", "status"},
    "RunningJob": {"job_id"},
    "Message": {"id", "status", "final"},
    "Entry": {"seq", "type"},
    "EntryPage": {"cursor"},
    "Work": {"work_id"},
    "WorkItem": {"work_id"},
    "UploadTicket": {"upload_id", "url", "fields"},
    "Upload": {"upload_id", "status"},
    "KeyInfo": {"id"},
    "Account": {"user_id"},
    "ErrorBody": {"error"},
}
"""The fields without which the client cannot go on."""
MORE = {
    "Message": '''
    @property
    def is_agent_busy(self) -> bool:
        """Nothing ran because of another message; the same request may be sent again."""
        return self.status == "failed" and self.reason == "agent_busy"
''',
    "Entry": '''\
    cursor: str | None = None
    """Set by `Client.follow`: with it and ``seq`` a later call goes on from here."""
''',
}
"""What the client knows besides."""
HEAD = '''\
"""The records a caller reads, as the API's description names their fields.

Made by docs/client_models.py from the classes that the server answers with; change those.

All are frozen. They are made for servers newer than this client: unknown fields are kept (as
attributes), words such as ``status`` are plain strings, and an optional field that is null or
missing has its default. ``raw`` is the JSON object as it came. Rely on ``Message.final``, not on
its ``status``, for "finished". ``File.url`` expires; `Client.download` renews it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from agentpost_client.records import Record
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
EMPTY = {"str": '""', "int": "0", "float": "0", "bool": "False"}


def text() -> str:
    """The whole file."""
    return HEAD + "".join(models(MODELS))


def models(names: Mapping[type[Shape], str]) -> list[str]:
    """A class for each shape, in the order given."""
    found = schemas(list(names))
    refs = {f"#/components/schemas/{shape.__name__}": name for shape, name in names.items()}
    return [_model(found[shape.__name__], name, refs) for shape, name in names.items()]


def _model(schema: Mapping[str, Any], name: str, refs: Mapping[str, str]) -> str:
    lines = ["\n", "@dataclass(frozen=True, kw_only=True)", f"class {name}(Record):"]
    lines += [f'    """{schema["description"]}"""', ""]
    for field, part in schema["properties"].items():
        if field == "object":
            continue  # says which class it is
        needed = field in NEEDED.get(name, ())
        lines.append(f"    {field}: {_annotation(part, refs, field in schema['required'], needed)}")
        if "description" in part:
            lines.append(f'    """{part["description"]}"""')
    return "\n".join(lines) + "\n" + MORE.get(name, "")


def _annotation(
    part: Mapping[str, Any], refs: Mapping[str, str], always: bool, needed: bool
) -> str:
    """The type of a field and its default, if it has one."""
    kinds = [each for each in part.get("anyOf", [part]) if each.get("type") != "null"]
    kind = _type(kinds[0], refs)
    if needed:
        return kind
    if kind.startswith("tuple"):
        return f"{kind} = ()"
    if kind.startswith("dict"):
        return f"{kind} = field(default_factory=dict)"
    if kind == "bool" or (always and "anyOf" not in part and kind in EMPTY):
        return f"{kind} = {EMPTY[kind]}"
    if kind in refs.values() and kind not in NEEDED:
        return f"{kind} = {kind}()"
    return f"{kind} | None = None"


def _type(part: Mapping[str, Any], refs: Mapping[str, str]) -> str:
    if "$ref" in part:
        return refs[part["$ref"]]
    if part["type"] == "array":
        return f"tuple[{_type(part['items'], refs)}, ...]"
    if part["type"] == "object":
        return f"dict[str, {_type(part['additionalProperties'], refs)}]"
    return "datetime" if part.get("format") == "date-time" else PLAIN[part["type"]]


if __name__ == "__main__":
    print(text(), end="")
