"""Tools of MCP servers, from a file in the shape that other programs use (docs/llm.md).

A server is connected to when a run begins, and again at a call when the session has ended
meanwhile. One that cannot be reached is left out of that run: the log and the model are told, and
it is tried again after a while.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeAlias, cast
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from pydantic_ai import ModelRetry, RunContext, ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator, core_schema, to_json

from agentpost.agents.adapters.recording import current_recorder
from agentpost.agents.base import Json
from agentpost.agents.llm.context import cut
from agentpost.domain import backoff
from agentpost.domain.text import storable_json

logger = logging.getLogger(__name__)

CONNECT_SECONDS: Final = 30.0
"""How long a server may take to start and to say what it has."""
CALL_SECONDS: Final = 300.0
AGAIN_SECONDS: Final = 30.0
AGAIN_SECONDS_MAX: Final = 600.0
"""How long one that could not be reached is left alone: twice as long each time, since each try may
take `CONNECT_SECONDS` of somebody's run."""
RESULT_CHARACTERS: Final = 100_000
"""How much of a result is kept: it is recorded, and the model reads it."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
_ANY: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_TEXT_CHARACTERS: Final = 4
_PART_CHARACTERS: Final = 8
"""Shorter parts of an address are words, such as ``mcp``, and no keys."""
TOOL_NAME_CHARACTERS_MAX: Final = 64
_TOOL_NAME: Final = re.compile(f"[a-zA-Z0-9_-]{{1,{TOOL_NAME_CHARACTERS_MAX}}}")
_UNUSABLE: Final = re.compile("[^a-zA-Z0-9_-]")
_MARK_CHARACTERS: Final = 8
_DESCRIPTION: Final = ("name", "description", "parameters_json_schema")
"""What is recorded of a tool: what the model is told of it."""


def _with_variables(text: str) -> str:
    """The text with ``${NAME}`` and ``${NAME:-default}`` replaced; raises `ValueError`."""

    def replace_match(match: re.Match[str]) -> str:
        name, default = match.groups()
        value = os.environ.get(name, default)
        if value is None:
            raise ValueError(f"the environment has no variable {name}")
        return value

    return _VARIABLE.sub(replace_match, text)


_Text: TypeAlias = Annotated[str, AfterValidator(_with_variables)]


class Entry(BaseModel):
    """A server in the file: a program, or an address."""

    command: _Text | None = None
    args: list[_Text] = []
    env: dict[str, _Text] = {}
    cwd: _Text | None = None
    url: _Text | None = None
    headers: dict[str, _Text] = {}


_FILE: Final = TypeAdapter(dict[str, Entry])


# --- what a server's names and errors may be ------------------------------------------------------
def keys_of(url: str | None, headers: Mapping[str, str]) -> list[str]:
    """What no error of a server may tell, the longest first: passwords and values in its address,
    long parts of its path, and the values of its headers."""
    secrets = [part for value in headers.values() for part in (value, *value.split())]
    if url is not None:
        parts = urlsplit(url)
        values = [value for _, value in parse_qsl(parts.query)]
        raw = [pair.partition("=")[2] for pair in parts.query.split("&")]
        long = [p for p in parts.path.split("/") if len(p) >= _PART_CHARACTERS]
        account = parts.netloc.rpartition("@")[0]
        secrets += [*long, *values, *raw, account, *account.split(":")]
    forms = {form for text in secrets for form in (text, quote(text, safe=""), unquote(text))}
    return sorted((text for text in forms if len(text) >= _TEXT_CHARACTERS), key=len, reverse=True)


def provider_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name itself where a provider takes it, else one that is made of it: without the
    characters that it may not have, cut, and with a mark that no other name has.

    It depends on nothing but its arguments, so that a repeated run has the same names.
    """
    if _TOOL_NAME.fullmatch(name) and not is_taken(name):
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:_MARK_CHARACTERS]
    return f"{_UNUSABLE.sub('_', name)[: TOOL_NAME_CHARACTERS_MAX - _MARK_CHARACTERS - 1]}_{mark}"


# --- servers --------------------------------------------------------------------------------------
def of_file(path: str, names: Collection[str] = ()) -> list[AbstractToolset[Any]]:
    """The servers that a file names; none for "". ``names`` are those of other tools. Raises
    `ValueError` with what is wrong with the file; no value of it is repeated."""
    if not path:
        return []
    try:
        read = json.loads(Path(path).read_text("utf-8"))
        if not isinstance(read, dict) or not isinstance(read.get("mcpServers"), dict):
            raise ValueError('it has to be {"mcpServers": {"name": {…}}}')
        entries = _FILE.validate_python(read["mcpServers"])
        return [_make_server(name, entry, entries, names) for name, entry in entries.items()]
    except OSError as error:
        reason = error.strerror or str(error)
    except ValidationError as error:
        (first, *_) = error.errors(include_input=False)
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ValueError as error:
        reason = str(error)
    raise ValueError(f"AGENTPOST_LLM_MCP_FILE: {path}: {reason}")


def _make_server(
    name: str, entry: Entry, servers: Iterable[str], names: Collection[str]
) -> AbstractToolset[Any]:
    """A server. A provider takes no name of a tool twice, so it leaves the ``names`` to other
    tools. Of two servers whose names begin alike, such as ``a`` and ``a_b``, the longer name keeps
    its prefix: ``a_b_c`` may be a tool of either one."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name: letters, digits, - and _, 32 at the most")
    if (entry.command is None) == (entry.url is None):
        raise ValueError(f"{name} needs a command or a url, and not both")
    begin_alike = tuple(f"{other}_" for other in servers if other.startswith(f"{name}_"))
    reach = Reach(
        partial(_session, name, entry),
        keys_of(entry.url, entry.headers),
        lambda tool: tool in names or tool.startswith(begin_alike),
    )
    return Server(reach.current(), name, reach)


def _session(name: str, entry: Entry) -> Session:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    target: Any = entry.url
    if entry.command is not None:
        target = StdioTransport(entry.command, entry.args, entry.env, entry.cwd)
    tools = MCPToolset[Any](
        target,
        id=name,
        headers=(entry.headers or None) if entry.url else None,
        init_timeout=CONNECT_SECONDS,
        read_timeout=CALL_SECONDS,
        cache_tools=False,  # listing them before each call shows whether the session still lives
    )
    return Session(tools.prefixed(name), tools.client.close)


@dataclass(eq=False)
class Session(WrapperToolset[Any]):
    """A session with a server, which runs share. One that was lost is closed by its last run."""

    close: Callable[[], Awaitable[None]]
    holders: int = 0
    is_lost: bool = False

    async def __aenter__(self) -> Self:
        await self.wrapped.__aenter__()
        self.holders += 1
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        self.holders -= 1
        if not self.is_lost:
            return await self.wrapped.__aexit__(*args)
        try:
            await self.wrapped.__aexit__(*args)
            if not self.holders:
                await self.close()
        except Exception:
            logger.debug("a lost session did not end well", exc_info=True)
        return None


@dataclass
class Reach:
    """Whether a server could be reached, and the session with it; shared by all runs.

    ``make`` makes a session that is not open yet, ``keys`` are told to nobody, and ``is_taken``
    says of the name of a tool that another one has it.
    """

    make: Callable[[], Session]
    keys: Sequence[str] = ()
    is_taken: Callable[[str], bool] = lambda _: False
    closed_until: float = 0.0
    failures: int = 0
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Runs that begin together wait for one try."""
    _session: Session | None = None

    def current(self) -> Session:
        """The session of new runs and of those that lost theirs."""
        if self._session is None or self._session.is_lost:
            self._session = self.make()
        return self._session

    def note_failure(self, now: float) -> None:
        """It is left alone from now on, longer than the last time; runs that lose it together
        count once."""
        if now < self.closed_until:
            return
        pause = backoff.pause(self.failures, AGAIN_SECONDS, AGAIN_SECONDS_MAX)
        self.closed_until, self.failures = now + pause, self.failures + 1


@dataclass
class Server(WrapperToolset[Any]):
    """The tools of one server, or none while it cannot be reached."""

    name: str
    reach: Reach
    open_sessions: list[Session] = field(default_factory=list)
    """The sessions that this run has entered: the newest is the one it uses."""
    offered: list[ToolDefinition] | None = None

    @property
    def is_open(self) -> bool:
        """Whether this run has a session that is not known to be lost."""
        return bool(self.open_sessions) and not self.open_sessions[-1].is_lost

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """Each run knows for itself whether the server is connected."""
        return Server(self.wrapped, self.name, self.reach)

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def _open(self) -> None:
        """Enter the session that all share, unless the server is left alone now."""
        async with self.reach.opening:
            if self.is_open or asyncio.get_running_loop().time() < self.reach.closed_until:
                return
            session = self.reach.current()
            try:
                await session.__aenter__()
            except Exception as error:
                self._unreachable_error(error)
            else:
                self.open_sessions.append(session)
                self.reach.failures = 0

    async def __aexit__(self, *args: Any) -> bool | None:
        sessions, self.open_sessions = self.open_sessions, []
        for session in sessions:
            await session.__aexit__(*args)
        return None

    async def get_instructions(self, ctx: RunContext[Any]) -> str | None:
        """What the model has to know when the tools are not there."""
        return None if self.is_open else self._unreachable()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Its tools when the run began; they are recorded, so that a run that is repeated offers
        the same ones."""
        if self.offered is None:

            async def describe() -> Json:
                tools = [tool.tool_def for tool in (await self._live(ctx)).values()]
                return [storable_json({n: getattr(t, n) for n in _DESCRIPTION}) for t in tools]

            recorder = current_recorder.get()
            listing = recorder.list_tools(self.name, describe) if recorder else describe()
            self.offered = [ToolDefinition(**read) for read in cast("list[Any]", await listing)]
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=replace(tool, name=name),
                max_retries=ctx.max_retries,
                args_validator=_ANY,
            )
            for name, tool in self._offered_by_name().items()
        }

    def _offered_by_name(self) -> dict[str, ToolDefinition]:
        """The tools by the names that the model calls them by."""
        return {provider_name(tool.name, self.reach.is_taken): tool for tool in self.offered or ()}

    async def _live(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools that it has now; none when it cannot be reached.

        A session that is found dead is replaced. Nothing of a call has been sent by then.
        """
        for is_last in (False, True):
            await self._open()
            if not self.is_open:
                break
            session = self.open_sessions[-1]
            try:
                return await session.get_tools(ctx)
            except Exception as error:
                session.is_lost = True
                if is_last:
                    self._unreachable_error(error)
        return {}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """The result; a failure is a text for the model, and never fails the run."""
        tool_name = self._offered_by_name()[name].name
        live = {storable_json(its): tool for its, tool in (await self._live(ctx)).items()}
        live_tool = live.get(tool_name)
        if live_tool is None:
            return self._unreachable()
        try:
            name_there = live_tool.tool_def.name
            result = live_tool.toolset.call_tool(name_there, tool_args, ctx, live_tool)
            return _result_record(await result)
        except ModelRetry as error:
            return _result_record(f"{name} failed: {self._without_keys(error.message)}")
        except Exception as error:
            reason = self._short(error)
            logger.warning("a tool of the MCP server %s failed: %s", self.name, reason)
            return _result_record(f"{name} failed: {reason}")

    def _unreachable(self) -> str:
        return f"The tools of {self.name!r} cannot be reached now."

    def _unreachable_error(self, error: Exception) -> None:
        self.reach.note_failure(asyncio.get_running_loop().time())
        reason = self._short(error)
        logger.warning("the MCP server %s cannot be reached: %s", self.name, reason)

    def _short(self, error: Exception) -> str:
        return self._without_keys(str(error) or type(error).__name__)[:300]

    def _without_keys(self, text: str) -> str:
        for key in self.reach.keys:
            text = text.replace(key, "…")
        return text


async def connect(servers: list[AbstractToolset[Any]]) -> None:
    """Connect to all of them once, so that the log says at the start which cannot be reached."""
    for server in servers:
        async with server:
            pass


def _result_record(result: Any) -> Any:
    """What is recorded of a result: no more than `RESULT_CHARACTERS`, and nothing that JSON in a
    database cannot hold."""
    if isinstance(result, ToolReturn):  # its metadata is for programs that show a user interface
        result = result.return_value
    result = storable_json(result)
    is_text = isinstance(result, str)
    text = result if is_text else to_json(result, bytes_mode="base64", fallback=str).decode()
    return result if len(text) <= RESULT_CHARACTERS else cut(text, RESULT_CHARACTERS)
