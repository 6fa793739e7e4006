"""The tools: what each is for, and what it does at a backend."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Annotated, Any, ClassVar, Final

import anyio
import mcp.types as mcp
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentpost.clock import SystemClock, new_id
from agentpost.domain import answers, ids, limits
from agentpost.domain.answers import AnswerFormat
from agentpost.domain.limits import MCP_WAIT_SECONDS_MAX
from agentpost.doors.mcp import files, results
from agentpost.doors.mcp.backend import Backend, BackendError, Change, Json
from agentpost.doors.writing import Texts, piece_end

_LAST_WORDS: Final = 200  # characters
_QUESTIONS: Final = 20
"""How many messages back an answer that is repeated finds its question."""
Progress = Callable[[float, str], Awaitable[None]]
"""Tells the client how often something happened, and what."""
_WAIT = Field(
    ge=0, le=MCP_WAIT_SECONDS_MAX, description="How long to wait for the end, in seconds."
)
Id = Annotated[str, Field(min_length=1, max_length=200)]


class Strict(BaseModel):
    """What is not known is refused, so that a misspelt argument is not lost."""

    model_config = ConfigDict(extra="forbid")


class Tool(Strict, ABC):
    """A call of a tool: its fields are the arguments, its docstring is what clients read of it."""

    title: ClassVar[str]
    output: ClassVar[dict[str, Any]] = results.OBJECT_SCHEMA
    reads_only: ClassVar[bool] = False
    ends_work: ClassVar[bool] = False

    @abstractmethod
    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        """Do it; raises `BackendError`."""


class FileArgument(Strict):
    """A file to send along: by `url` or by `base64`."""

    name: str | None = Field(default=None, description="File name for the agent.")
    url: str | None = Field(default=None, description="Public https URL; the server fetches it.")
    base64: str | None = Field(default=None, description="The bytes, in standard base64.")
    content_type: str | None = Field(default=None, description="MIME type.")


# --- messages -------------------------------------------------------------------------------------
class _Sending(Tool):
    output = results.MESSAGE_SCHEMA
    text: str = Field(
        default="",
        description="What to say or what to do, in plain language; up to 20,000 characters.",
    )
    files: list[FileArgument] = Field(
        default=[],
        max_length=limits.INLINE_FILES_MAX,
        description="Up to 5 files, 10 MB each; larger ones as uploads.",
    )
    upload_ids: list[str] = Field(
        default=[],
        max_length=limits.UPLOADS_PER_MESSAGE_MAX,
        description="Finished uploads of the HTTP API (POST /v1/uploads).",
    )
    metadata: dict[str, str] | None = Field(
        default=None,
        max_length=limits.METADATA_ENTRIES_MAX,
        description="Up to 16 labels of your own, given back unchanged.",
    )
    idempotency_key: str | None = Field(
        default=None, description="Sending again with the same key starts nothing twice."
    )
    wait_seconds: Annotated[int, _WAIT] = 30

    async def _send(
        self, backend: Backend, tell: Progress, conversation: str, answer: Json | None = None
    ) -> mcp.CallToolResult:
        fields = {
            "message": self.text,
            "conversation": conversation,
            "files": [each.model_dump(exclude_none=True) for each in self.files] or None,
            "upload_ids": self.upload_ids or None,
            "metadata": self.metadata or None,
            **(answer or {}),
        }
        present = {name: value for name, value in fields.items() if value is not None}
        message = await backend.send(present, self.idempotency_key)
        try:
            result = await _until(backend, message["id"], self.wait_seconds, tell)
        except BackendError as error:
            if error.code != "forbidden":
                raise
            result = results.of_message(message)  # a key that may send but not read
        result.structured_content["conversation"] = conversation
        return result


class SendMessage(_Sending):
    """Hand the agent a question or a piece of work in plain language, with files if need be. It
    waits up to wait_seconds, then gives the state: work that takes longer continues, and
    follow_message tells its end. To continue a conversation, give the name that an earlier result
    has. Cancelling the call does not stop the work; stop_message does."""

    title = "Send a message to the agent"
    conversation: str | None = Field(
        default=None,
        max_length=limits.CONVERSATION_CHARACTERS_MAX,
        description="The conversation to continue, as an earlier result names it. Without one the"
        " agent knows nothing of what was said before.",
    )

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        conversation = self.conversation or new_id("mcp_", SystemClock().now())
        return await self._send(backend, tell, conversation)


class FollowMessage(Tool):
    """Wait until a message is final, or wait_seconds are over, and give its state, results and
    files. Progress notifications tell each step meanwhile. Call it again while the status is
    processing. Cancelling the call does not stop the work; stop_message does."""

    title = "Wait for a message to end"
    output = results.MESSAGE_SCHEMA
    reads_only = True
    message_id: Id
    wait_seconds: Annotated[int, _WAIT] = 45

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        return await _until(backend, self.message_id, self.wait_seconds, tell)


class AnswerQuestion(_Sending):
    """Answer a message with the status needs_input, in its conversation. When the question has
    choices, the text is one of them; when it has a schema, JSON that fits it. Cancelling the call
    does not stop the work; stop_message does."""

    title = "Answer the agent's question"
    message_id: Id | None = Field(default=None, description="The message that asks.")
    conversation: str | None = Field(
        default=None,
        max_length=limits.CONVERSATION_CHARACTERS_MAX,
        description="Its conversation, when the message does not tell it.",
    )

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        conversation = self.conversation
        message = await self._question_message(backend)
        if conversation is None and message is not None and "conversation" in message:
            conversation = message["conversation"] or ""  # null: the key's own, which has no name
        if conversation is None:
            raise BackendError(
                "invalid_request",
                "The conversation of the question is not known.",
                "Give the conversation that the result with the question names.",
            )
        try:
            return await self._send(backend, tell, conversation, _answer(message, self.text))
        except BackendError as error:
            if error.code != "idempotency_conflict" or self.message_id is not None:
                raise
            return await self._earlier_answer(backend, tell, conversation, error)

    async def _earlier_answer(
        self, backend: Backend, tell: Progress, conversation: str, conflict: BackendError
    ) -> mcp.CallToolResult:
        """The answer that has this key already, which was given before the newest message was sent:
        to one of the last questions. The key is taken, so that no try can send anything new."""
        newest = (await backend.messages(conversation, None, _QUESTIONS))["data"]
        asking = [each["id"] for each in newest if each["status"] == "needs_input"]
        questions = [await backend.ask("getMessage", each) for each in asking]
        for terms in [{}, *(_answer(question, self.text) for question in questions)]:
            try:
                return await self._send(backend, tell, conversation, terms)
            except BackendError as error:
                if error.code not in ("idempotency_conflict", "invalid_request"):
                    raise
        raise conflict

    async def _question_message(self, backend: Backend) -> Json | None:
        """The message that asks: the one named, else the newest of the conversation."""
        if self.message_id is not None:
            return await backend.ask("getMessage", self.message_id)
        if self.conversation is None:
            return None
        try:
            newest = (await backend.messages(self.conversation, None, 1))["data"]
            return await backend.ask("getMessage", newest[0]["id"]) if newest else None
        except BackendError as error:
            if error.code != "forbidden":
                raise
            return None  # a key that may send but not read


def _answer(question: Json | None, text: str) -> Json:
    """The fields that make a text the answer to a typed question; none for any other. The server
    refuses with them what is not one of the choices or does not fit the schema, unless it repeats
    what was sent before."""
    if question is None or question["status"] != "needs_input" or "answer_format" not in question:
        return {}
    answer_format = question["answer_format"]
    try:
        format_ = AnswerFormat(answer_format.get("choices"), answer_format.get("schema"))
        value = answers.value_in(format_, text)
    except ValueError:
        return {"answer_to": question["id"]}
    return {"answer_to": question["id"], "answer": value}


async def _until(
    backend: Backend, message_id: str, seconds: int, tell: Progress
) -> mcp.CallToolResult:
    """The message at its end, or when the time is over; what happens meanwhile is reported."""
    if seconds:
        with anyio.move_on_after(seconds):
            async with aclosing(backend.changes(message_id)) as changes:
                await _report(changes, tell)
    message = await backend.ask("getMessage", message_id)
    failure = ""
    if message["final"] and message["reason"] in ("turn_failed", "agent_busy"):
        with suppress(BackendError):  # too much is held: that it failed is told by the message
            failure = await _failure(backend, message_id)
    return results.of_message(message, failure)


async def _failure(backend: Backend, message_id: str) -> str:
    """How the turn of a message that is final has failed, as its log says."""
    text = ""
    async with aclosing(backend.changes(message_id)) as changes:
        async for change in changes:
            for entry in change.entries:
                if entry["type"] in ("turn_failed", "turn_busy"):
                    text = entry["text"]
    return text


async def _report(changes: AsyncGenerator[Change, None], tell: Progress) -> None:
    """Tell each entry, and of a text that is being written its last words, as often as it has grown
    by a piece."""
    count = 0
    texts = Texts()
    ends: dict[str, int] = {}
    async for change in changes:
        lines = [_line(entry) for entry in change.entries]
        for piece in change.texts:
            texts.add(piece)
            text = texts.of(piece.source) if piece.source is not None else None
            if piece.source is None or text is None:
                continue
            start = min(ends.get(piece.source, 0), text.end)
            if text.end >= piece_end(start) or piece.reset:
                ends[piece.source] = text.end
                lines += [f"writing: …{text.known[-_LAST_WORDS:]}"] if text.known else []
        if not change.entries and not change.texts:
            lines = ["still working"]
        for line in lines:
            count += 1
            await tell(count, line)


def _line(entry: Json) -> str:
    text = entry.get("step") or entry.get("title") or entry.get("text") or ""
    return f"{entry['type']}: {text[:200]}" if text else str(entry["type"])


class StopMessage(Tool):
    """End the agent's turn and every job of the message; the files they have made are kept."""

    title = "Stop what runs for a message"
    output = results.MESSAGE_SCHEMA
    ends_work = True
    message_id: Id

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        await backend.ask("cancelMessage", self.message_id)
        return await _until(backend, self.message_id, 0, tell)


class RecoverMessage(Tool):
    """Watch work again that did not report back in time. It never starts anything."""

    title = "Look again at expired work"
    message_id: Id

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        recovery = await backend.ask("recoverMessage", self.message_id)
        lines = [f"{work['work_id']}: {work['state']}" for work in recovery["work"]]
        return results.of_value(recovery, "\n".join(lines) or "The message has started no work.")


class ListMessages(Tool):
    """What was sent with this key, newest first, with how it stands."""

    title = "List the newest messages"
    reads_only = True
    conversation: str | None = Field(default=None, description="Only those of this conversation.")
    before: str | None = Field(
        default=None,
        pattern=ids.pattern(ids.MESSAGE),
        description="Only those older than this message id.",
    )
    limit: int = Field(
        default=limits.MESSAGE_LIST_DEFAULT,
        ge=1,
        le=limits.MESSAGE_LIST_MAX,
        description="How many.",
    )

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        page = await backend.messages(self.conversation, self.before, self.limit)
        lines = [f"{each['id']}: {each['status']} — {_line_of(each)}" for each in page["data"]]
        if page["has_more"]:
            lines.append(f"There are more: before={page['data'][-1]['id']}")
        return results.of_value(page, "\n".join(lines) or "There is no message.")


def _line_of(message: Json) -> str:
    text = " ".join(str(message.get("message") or message.get("text") or "").split())
    return text[:200]


# --- works ----------------------------------------------------------------------------------------
class ListWork(Tool):
    """A work is where jobs run and leave their files."""

    title = "List the newest works"
    reads_only = True
    before: str | None = Field(
        default=None,
        pattern=ids.pattern(ids.WORK),
        description="Only those older than this work id.",
    )
    limit: int = Field(
        default=limits.WORK_LIST_DEFAULT, ge=1, le=limits.WORK_LIST_MAX, description="How many."
    )

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        page = await backend.ask("listWork", before=self.before, limit=self.limit)
        lines = [f"{work['work_id']}: {work['title']} ({work['status']})" for work in page["data"]]
        if page["has_more"]:
            lines.append(f"There are more: before={page['data'][-1]['work_id']}")
        return results.of_value(page, "\n".join(lines) or "There is no work yet.")


class GetWork(Tool):
    """The latest result of a work, in pages of 20,000 characters, and its newest files."""

    title = "Read a work"
    reads_only = True
    work_id: Id
    from_char: int = Field(
        default=0,
        ge=0,
        le=limits.INT_PARAM_MAX,
        description="Where to continue: `next_from_char` of the last page.",
    )

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        return _work(await backend.ask("getWork", self.work_id, from_char=self.from_char))


class StopWork(Tool):
    """End all jobs that run or wait in a work; the files they have made are kept."""

    title = "Stop everything in a work"
    ends_work = True
    work_id: Id

    async def run(self, backend: Backend, tell: Progress) -> mcp.CallToolResult:
        return _work(await backend.ask("stopWork", self.work_id))


def _work(work: Json) -> mcp.CallToolResult:
    more = work["next_from_char"]
    end = f"\n\nGo on with from_char={more}." if more is not None else ""
    text = f"{work['title']} ({work['status']})\n\n{work['text']}{end}"
    return results.of_value(work, text, [files.link(file) for file in work["files"]])


# --- for clients ----------------------------------------------------------------------------------
TOOLS: Final[dict[str, type[Tool]]] = {
    "send_message": SendMessage,
    "follow_message": FollowMessage,
    "answer_question": AnswerQuestion,
    "stop_message": StopMessage,
    "recover_message": RecoverMessage,
    "list_messages": ListMessages,
    "list_work": ListWork,
    "get_work": GetWork,
    "stop_work": StopWork,
}


def schema_of(tool: type[Tool]) -> dict[str, Any]:
    """The JSON schema of its arguments."""
    schema = tool.model_json_schema()
    del schema["description"]  # it is that of the tool
    return schema


def list_tools() -> list[mcp.Tool]:
    """The tools as clients see them."""
    return [
        mcp.Tool(
            name=name,
            title=tool.title,
            description=" ".join((tool.__doc__ or "").split()),
            input_schema=schema_of(tool),
            output_schema=tool.output,
            annotations=mcp.ToolAnnotations(
                read_only_hint=tool.reads_only,
                destructive_hint=tool.ends_work,
                idempotent_hint=tool.reads_only or tool.ends_work,
            ),
        )
        for name, tool in TOOLS.items()
    ]


async def call(
    backend: Backend, name: str, arguments: dict[str, Any], tell: Progress
) -> mcp.CallToolResult:
    """Call a tool; what is refused comes back as a result that says so."""
    tool = TOOLS.get(name)
    try:
        if tool is None:
            raise BackendError("not_found", f"There is no tool {name[:80]}.", "See tools/list.")
        return await _validate(tool, arguments).run(backend, tell)
    except BackendError as error:
        return mcp.CallToolResult(
            content=[mcp.TextContent(type="text", text=str(error))], is_error=True
        )


def _validate(tool: type[Tool], arguments: dict[str, Any]) -> Tool:
    try:
        return tool.model_validate(arguments)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        sentences = [
            f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in details
        ]
    raise BackendError(
        "invalid_request",
        f"The arguments are not valid: {'; '.join(sentences[: limits.PROBLEMS_MAX])}.",
        "Change them as the tool's schema says.",
    )
