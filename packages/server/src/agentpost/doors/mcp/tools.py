"""The tools: what each is for, and what it does at a backend."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_type_hints

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


# --- their arguments ------------------------------------------------------------------------------
_WAIT = Field(
    ge=0, le=MCP_WAIT_SECONDS_MAX, description="How long to wait for the end, in seconds."
)

Id = Annotated[str, Field(min_length=1, max_length=200)]


class Arguments(BaseModel):
    """The base: what is not known is refused, so that a misspelt argument is not lost."""

    model_config = ConfigDict(extra="forbid")


class FileArgument(Arguments):
    """A file to send along: by `url` or by `base64`."""

    name: str | None = Field(default=None, description="File name for the agent.")
    url: str | None = Field(default=None, description="Public https URL; the server fetches it.")
    base64: str | None = Field(default=None, description="The bytes, in standard base64.")
    content_type: str | None = Field(default=None, description="MIME type.")


class _Sent(Arguments):
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


class SendArguments(_Sent):
    """Of `send_message`."""

    conversation: str | None = Field(
        default=None,
        max_length=limits.CONVERSATION_CHARACTERS_MAX,
        description="The conversation to continue, as an earlier result names it. Without one the"
        " agent knows nothing of what was said before.",
    )


class AnswerArguments(_Sent):
    """Of `answer_question`."""

    message_id: Id | None = Field(default=None, description="The message that asks.")
    conversation: str | None = Field(
        default=None,
        max_length=limits.CONVERSATION_CHARACTERS_MAX,
        description="Its conversation, when the message does not tell it.",
    )


class FollowArguments(Arguments):
    """Of `follow_message`."""

    message_id: Id
    wait_seconds: Annotated[int, _WAIT] = 45


class MessageArguments(Arguments):
    """Of tools for one message."""

    message_id: Id


class MessagesArguments(Arguments):
    """Of `list_messages`."""

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


class WorksArguments(Arguments):
    """Of `list_work`."""

    before: str | None = Field(
        default=None,
        pattern=ids.pattern(ids.WORK),
        description="Only those older than this work id.",
    )
    limit: int = Field(
        default=limits.WORK_LIST_DEFAULT, ge=1, le=limits.WORK_LIST_MAX, description="How many."
    )


class WorkArguments(Arguments):
    """Of `get_work`."""

    work_id: Id
    from_char: int = Field(
        default=0,
        ge=0,
        le=limits.INT_PARAM_MAX,
        description="Where to continue: `next_from_char` of the last page.",
    )


class StopWorkArguments(Arguments):
    """Of `stop_work`."""

    work_id: Id


# --- the list -------------------------------------------------------------------------------------
_MESSAGE: Final = results.MESSAGE_SCHEMA
Run = Callable[[Backend, Any, Progress], Awaitable[mcp.CallToolResult]]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as clients see it, with what it does."""

    run: Run
    arguments: type[Arguments]
    title: str
    description: str
    output: dict[str, Any]
    reads_only: bool
    ends_work: bool


TOOLS: Final[dict[str, ToolSpec]] = {}


def tool(
    title: str,
    output: dict[str, Any] = results.OBJECT_SCHEMA,
    *,
    reads_only: bool = False,
    ends_work: bool = False,
) -> Callable[[Run], Run]:
    """Make a function a tool of its name. Its docstring is what clients read of it; the type of its
    ``arguments`` is their schema."""

    def add(run: Run) -> Run:
        arguments = get_type_hints(run)["arguments"]
        description = " ".join((run.__doc__ or "").split())
        TOOLS[run.__name__] = ToolSpec(
            run, arguments, title, description, output, reads_only, ends_work
        )
        return run

    return add


# --- the tools ------------------------------------------------------------------------------------
@tool("Send a message to the agent", _MESSAGE)
async def send_message(
    backend: Backend, arguments: SendArguments, tell: Progress
) -> mcp.CallToolResult:
    """Hand the agent a question or a piece of work in plain language, with files if need be. It
    waits up to wait_seconds, then gives the state: work that takes longer continues, and
    follow_message tells its end. To continue a conversation, give the name that an earlier result
    has. Cancelling the call does not stop the work; stop_message does."""
    conversation = arguments.conversation or new_id("mcp_", SystemClock().now())
    return await _send(backend, arguments, conversation, tell)


@tool("Wait for a message to end", _MESSAGE, reads_only=True)
async def follow_message(
    backend: Backend, arguments: FollowArguments, tell: Progress
) -> mcp.CallToolResult:
    """Wait until a message is final, or wait_seconds are over, and give its state, results and
    files. Progress notifications tell each step meanwhile. Call it again while the status is
    processing. Cancelling the call does not stop the work; stop_message does."""
    return await _until(backend, arguments.message_id, arguments.wait_seconds, tell)


@tool("Answer the agent's question", _MESSAGE)
async def answer_question(
    backend: Backend, arguments: AnswerArguments, tell: Progress
) -> mcp.CallToolResult:
    """Answer a message with the status needs_input, in its conversation. When the question has
    choices, the text is one of them; when it has a schema, JSON that fits it. Cancelling the call
    does not stop the work; stop_message does."""
    conversation = arguments.conversation
    message = await _question_message(backend, arguments)
    if conversation is None and message is not None and "conversation" in message:
        conversation = message["conversation"] or ""  # null: the key's own, which has no name
    if conversation is None:
        raise BackendError(
            "invalid_request",
            "The conversation of the question is not known.",
            "Give the conversation that the result with the question names.",
        )
    try:
        return await _send(backend, arguments, conversation, tell, _answer(message, arguments.text))
    except BackendError as error:
        if error.code != "idempotency_conflict" or arguments.message_id is not None:
            raise
        return await _earlier_answer(backend, arguments, conversation, tell, error)


async def _earlier_answer(
    backend: Backend,
    arguments: AnswerArguments,
    conversation: str,
    tell: Progress,
    conflict: BackendError,
) -> mcp.CallToolResult:
    """The answer that has this key already, which was given before the newest message was sent: to
    one of the last questions. The key is taken, so that no try can send anything new."""
    newest = (await backend.messages(conversation, None, _QUESTIONS))["data"]
    asking = [each["id"] for each in newest if each["status"] == "needs_input"]
    for terms in [
        {},
        *[_answer(await backend.ask("getMessage", each), arguments.text) for each in asking],
    ]:
        try:
            return await _send(backend, arguments, conversation, tell, terms)
        except BackendError as error:
            if error.code not in ("idempotency_conflict", "invalid_request"):
                raise
    raise conflict


async def _question_message(backend: Backend, arguments: AnswerArguments) -> Json | None:
    """The message that asks: the one named, else the newest of the conversation."""
    if arguments.message_id is not None:
        return await backend.ask("getMessage", arguments.message_id)
    if arguments.conversation is None:
        return None
    try:
        newest = (await backend.messages(arguments.conversation, None, 1))["data"]
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


async def _send(
    backend: Backend,
    arguments: SendArguments | AnswerArguments,
    conversation: str,
    tell: Progress,
    answer: Json | None = None,
) -> mcp.CallToolResult:
    fields = {
        "message": arguments.text,
        "conversation": conversation,
        "files": [each.model_dump(exclude_none=True) for each in arguments.files] or None,
        "upload_ids": arguments.upload_ids or None,
        "metadata": arguments.metadata or None,
        **(answer or {}),
    }
    present = {name: value for name, value in fields.items() if value is not None}
    message = await backend.send(present, arguments.idempotency_key)
    try:
        result = await _until(backend, message["id"], arguments.wait_seconds, tell)
    except BackendError as error:
        if error.code != "forbidden":
            raise
        result = results.of_message(message)  # a key that may send but not read
    result.structured_content["conversation"] = conversation
    return result


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


@tool("Stop what runs for a message", _MESSAGE, ends_work=True)
async def stop_message(
    backend: Backend, arguments: MessageArguments, tell: Progress
) -> mcp.CallToolResult:
    """End the agent's turn and every job of the message; the files they have made are kept."""
    await backend.ask("cancelMessage", arguments.message_id)
    return await _until(backend, arguments.message_id, 0, tell)


@tool("Look again at expired work")
async def recover_message(
    backend: Backend, arguments: MessageArguments, _: Progress
) -> mcp.CallToolResult:
    """Watch work again that did not report back in time. It never starts anything."""
    recovery = await backend.ask("recoverMessage", arguments.message_id)
    lines = [f"{work['work_id']}: {work['state']}" for work in recovery["work"]]
    return results.of_value(recovery, "\n".join(lines) or "The message has started no work.")


@tool("List the newest messages", reads_only=True)
async def list_messages(
    backend: Backend, arguments: MessagesArguments, _: Progress
) -> mcp.CallToolResult:
    """What was sent with this key, newest first, with how it stands."""
    page = await backend.messages(arguments.conversation, arguments.before, arguments.limit)
    lines = [f"{each['id']}: {each['status']} — {_line_of(each)}" for each in page["data"]]
    if page["has_more"]:
        lines.append(f"There are more: before={page['data'][-1]['id']}")
    return results.of_value(page, "\n".join(lines) or "There is no message.")


def _line_of(message: Json) -> str:
    text = " ".join(str(message.get("message") or message.get("text") or "").split())
    return text[:200]


@tool("List the newest works", reads_only=True)
async def list_work(backend: Backend, arguments: WorksArguments, _: Progress) -> mcp.CallToolResult:
    """A work is where jobs run and leave their files."""
    page = await backend.ask("listWork", before=arguments.before, limit=arguments.limit)
    lines = [f"{work['work_id']}: {work['title']} ({work['status']})" for work in page["data"]]
    if page["has_more"]:
        lines.append(f"There are more: before={page['data'][-1]['work_id']}")
    return results.of_value(page, "\n".join(lines) or "There is no work yet.")


@tool("Read a work", reads_only=True)
async def get_work(backend: Backend, arguments: WorkArguments, _: Progress) -> mcp.CallToolResult:
    """The latest result of a work, in pages of 20,000 characters, and its newest files."""
    work = await backend.ask("getWork", arguments.work_id, from_char=arguments.from_char)
    return _work(work)


@tool("Stop everything in a work", ends_work=True)
async def stop_work(
    backend: Backend, arguments: StopWorkArguments, _: Progress
) -> mcp.CallToolResult:
    """End all jobs that run or wait in a work; the files they have made are kept."""
    return _work(await backend.ask("stopWork", arguments.work_id))


def _work(work: Json) -> mcp.CallToolResult:
    more = work["next_from_char"]
    end = f"\n\nGo on with from_char={more}." if more is not None else ""
    text = f"{work['title']} ({work['status']})\n\n{work['text']}{end}"
    return results.of_value(work, text, [files.link(file) for file in work["files"]])


def list_tools() -> list[mcp.Tool]:
    """The tools as clients see them."""
    return [
        mcp.Tool(
            name=name,
            title=spec.title,
            description=spec.description,
            input_schema=spec.arguments.model_json_schema(),
            output_schema=spec.output,
            annotations=mcp.ToolAnnotations(
                read_only_hint=spec.reads_only,
                destructive_hint=spec.ends_work,
                idempotent_hint=spec.reads_only or spec.ends_work,
            ),
        )
        for name, spec in TOOLS.items()
    ]


async def call(
    backend: Backend, name: str, arguments: dict[str, Any], tell: Progress
) -> mcp.CallToolResult:
    """Call a tool; what is refused comes back as a result that says so."""
    spec = TOOLS.get(name)
    try:
        if spec is None:
            raise BackendError("not_found", f"There is no tool {name[:80]}.", "See tools/list.")
        return await spec.run(backend, _validate(spec, arguments), tell)
    except BackendError as error:
        return mcp.CallToolResult(
            content=[mcp.TextContent(type="text", text=str(error))], is_error=True
        )


def _validate(spec: ToolSpec, arguments: dict[str, Any]) -> Arguments:
    try:
        return spec.arguments.model_validate(arguments)
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
