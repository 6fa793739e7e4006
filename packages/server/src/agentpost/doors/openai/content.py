"""The content of a message in the OpenAI API: its texts, and its pictures and files."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import unquote_to_bytes

from agentpost.api.long_texts import LongText
from agentpost.domain import ids
from agentpost.doors.openai.errors import unsupported_value, wrong
from agentpost.uploads.attachments import InlineFile, InPieces

FILES_AT: Final = re.compile(
    r"(input|messages)\.[0-9]+\.content\.[0-9]+"
    r"\.((file\.)?file_data|image_url(\.(url|image_url))?|input_audio\.data)"
)
"""Where a body has the contents of a file."""
_DATA_URL: Final = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.ASCII)
_TEXTS: Final = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
"""By the type of a part: the field that has its text."""


@dataclass(slots=True)
class Utterance:
    """What one side has said at a time. ``item_ids``: the ids of the output items that it was,
    where the client sends them back."""

    role: Literal["user", "assistant"]
    texts: list[str] = field(default_factory=list)
    files: list[InlineFile] = field(default_factory=list)
    upload_ids: list[str] = field(default_factory=list)
    item_ids: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it. Texts of an answer belong together; the clients join them with nothing
        between."""
        return ("\n\n" if self.role == "user" else "").join(self.texts)


def take_content(content: Any, where: str, utterance: Utterance) -> None:
    """Add a message's ``content``, a text or a list of parts; ``where`` is its place in the body.
    Raises ``invalid_request`` and `NotInThisApi`."""
    if isinstance(content, str):
        utterance.texts.append(content)
    elif isinstance(content, list):
        for n, part in enumerate(content):
            _take_part(part, f"{where}[{n}]", utterance)
    else:
        raise wrong(where, "must be a text or a list")


def text_of(content: Any, where: str) -> str:
    """The text of a message that may have nothing else, such as one of the system."""
    utterance = Utterance("user")
    take_content(content, where, utterance)
    if utterance.files or utterance.upload_ids:
        raise unsupported_value(where, "may have texts only")
    return utterance.text


def schema_of(format_: Mapping[str, Any], where: str) -> dict[str, Any] | None:
    """The JSON Schema that an answer has to fit; None for text. ``format_`` has a ``type``, and for
    ``json_schema`` the ``schema``. ``where`` is its place in the body."""
    kind = format_.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema":
        raise unsupported_value(f"{where}.type", "must be text, json_schema or json_object")
    schema = format_.get("schema")
    if not isinstance(schema, dict):
        raise wrong(f"{where}.schema", "must be a JSON Schema")
    return schema


def _take_part(part: Any, where: str, utterance: Utterance) -> None:
    kind = str(part.get("type")) if isinstance(part, dict) else None
    if kind in _TEXTS:
        utterance.texts.append(_string(part, _TEXTS[kind], where))
    elif kind in ("input_image", "image_url"):
        image = part.get("image_url")  # Chat Completions has an object there
        _take_file(
            {**part, **image} if isinstance(image, dict) else part, "image_url", where, utterance
        )
    elif kind == "input_file":
        _take_file(part, "file_url", where, utterance)
    elif kind == "input_audio":
        utterance.files.append(_audio(part.get("input_audio"), f"{where}.input_audio"))
    elif kind == "file" and isinstance(part.get("file"), dict):
        _take_file(part["file"], "file_url", f"{where}.file", utterance)
    else:
        raise unsupported_value(f"{where}.type", "only texts, pictures and files are taken")


def _audio(value: Any, where: str) -> InlineFile:
    if not isinstance(value, dict):
        raise wrong(where, "must be an object")
    form = _string(value, "format", where)
    contents = _contents(value, "data", where)
    return InlineFile(f"audio.{form}", None, contents, f"audio/{form}")


def _take_file(part: Mapping[str, Any], url: str, where: str, utterance: Utterance) -> None:
    if url == "image_url" and isinstance(part.get("url"), str | LongText):
        part = {**part, "image_url": part["url"]}
    name = part.get("filename")
    if name is not None and not isinstance(name, str):
        raise wrong(f"{where}.filename", "must be a text")
    sources = [each for each in ("file_id", "file_data", url) if part.get(each) is not None]
    if len(sources) != 1:
        raise wrong(where, f"needs one of file_id, file_data and {url}")
    source = sources[0]
    value = _contents(part, source, where)
    if source == "file_id" and isinstance(value, str):
        if not value.startswith(ids.UPLOAD):
            raise wrong(f"{where}.file_id", "must be a finished upload (POST /v1/uploads)")
        utterance.upload_ids.append(value)
    elif _start(value).startswith("data:"):
        utterance.files.append(_data_file(value, name, f"{where}.{source}"))
    elif source == "file_data":
        utterance.files.append(InlineFile(name, None, value, None))
    elif isinstance(value, LongText):
        raise wrong(f"{where}.{source}", "is too long for an address")
    else:
        utterance.files.append(InlineFile(name, value, None, None))


def _data_file(url: str | LongText, name: str | None, where: str) -> InlineFile:
    """A file by its data URL."""
    match = _DATA_URL.match(_start(url)[:500])
    if match is None:
        raise wrong(where, "is no data URL")
    if ";base64" not in match[2].lower():
        raise wrong(where, "must be in base64")
    if isinstance(url, str):
        return InlineFile(name, None, _unquote(url[match.end() :]), match[1] or None)
    return InlineFile(name, None, DataOfUrl(url, match.end()), match[1] or None)


def _start(text: str | LongText) -> str:
    """The first characters of a text."""
    return text if isinstance(text, str) else text.start()


def _contents(part: Mapping[str, Any], name: str, where: str) -> str | LongText:
    value = part.get(name)
    return value if isinstance(value, LongText) else _string(part, name, where)


def _unquote(text: str) -> str:
    return unquote_to_bytes(text).decode("latin-1") if "%" in text else text


class DataOfUrl(InPieces):
    """What a long data URL has in base64, behind so many characters."""

    def __init__(self, url: LongText, begin: int) -> None:
        self._url = url
        self._begin = begin

    def pieces(self) -> Iterator[str]:
        rest = ""
        for n, piece in enumerate(self._url.pieces()):
            rest += piece if n else piece[self._begin :]
            percent = rest.rfind("%", -2) if len(rest) > 2 else 0  # an escape may go on in the next
            end = percent if percent > 0 else len(rest)
            yield _unquote(rest[:end])
            rest = rest[end:]
        yield _unquote(rest)


def _string(part: Mapping[str, Any], name: str, where: str) -> str:
    value = part.get(name)
    if not isinstance(value, str):
        raise wrong(f"{where}.{name}", "must be a text")
    return value
