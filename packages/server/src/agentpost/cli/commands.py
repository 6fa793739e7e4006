"""Every command with its module, which is imported when the command is called and not before.

Importing the server takes longer than most commands run. So no help and none of the caller's
commands may need it: the modules of commands declare options at the top, and import what does the
work inside the functions. A test names what they may not import.
"""

from collections import UserDict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, signature
from typing import Annotated, Any, Final, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

_CONVERSION: Final = "process_value"
_VALUES: Final = {"int": "N", "float": "N", "Path": "PATH", "list[Path]": "PATH"}
"""How a value is shown in a help, by its type."""


prints_json: Final = ContextVar("prints_json", default=False)
"""Whether the command was called with ``--json``: then nothing for people is printed."""
command_words: Final = ContextVar("command_words", default="")
"""The words of the command that was called, such as ``users create``."""
_JSON: Final = Parameter(
    "as_json",
    Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Print JSON.")],
)


@dataclass(frozen=True, slots=True)
class Place:
    """The modules of a command below `agentpost`, with a blank between two, and the line that the
    program's help has for it. ``operates``: it is for the operator and does the server's work, so
    it logs problems; its JSON has a line for each field."""

    modules: str
    summary: str
    operates: bool = False


PLACES: Final = {
    "serve": Place("serving.commands", "Start the server: API, agent and jobs in one process."),
    "dev": Place("serving.commands", "Serve an agent and reload it on save."),
    "new": Place("serving.new_commands", "Create a folder with an agent and its test."),
    "doctor": Place(
        "operations.commands", "List problems: failures, overdue work, lost files.", operates=True
    ),
    "explain": Place("operations.commands", "Show what happened to a message.", operates=True),
    "backup": Place(
        "backups.commands", "Back up database and files while the server runs.", operates=True
    ),
    "restore": Place("backups.commands", "Restore a backup.", operates=True),
    "login": Place("cli.login_commands", "Store the address and key of a server."),
    "logout": Place("cli.login_commands", "Delete the stored address and key of a server."),
    "profiles": Place("cli.login_commands", "List and switch stored servers."),
    "send": Place("messages.send_commands", "Send a message and show its progress and result."),
    "chat": Place("chats.commands", "Chat with the agent."),
    "follow": Place("messages.commands", "Follow the log of a message."),
    "messages": Place("messages.commands", "List, show, cancel and delete messages."),
    "recover": Place("messages.commands", "Retrieve the result of an expired message."),
    "files": Place("files.commands", "List and download files."),
    "work": Place("jobs.commands", "List, show, stop and delete work."),
    "schedules": Place("schedules.commands", "Send messages on a schedule."),
    "upload": Place("files.commands", "Upload files of up to 500 MB each."),
    "me": Place("accounts.commands", "Show the account behind the key: credits, limits, agent."),
    "usage": Place("accounts.commands", "Show usage: messages, jobs, credits."),
    "mcp": Place("doors.mcp.commands", "Connect an assistant to a server, over stdio (MCP)."),
    "webhooks": Place("webhooks.commands", "Manage webhook endpoints and their deliveries."),
    "listen": Place("events.listen_commands", "Forward webhook events to this machine."),
    "trigger": Place("events.commands", "Send a sample of a webhook event."),
    "events": Place("events.commands", "List and resend events."),
    "requests": Place("requests.commands", "Show requests to the API."),
    "verify": Place("verification.commands", "Check that a deployment keeps the API's contract."),
    "login-link": Place(
        "operations.commands", "Create a link that signs in to the dashboard once.", operates=True
    ),
    "accounts": Place(
        "accounts.operator_commands account_data.commands", "Manage accounts.", operates=True
    ),
    "users": Place("users.commands", "Manage users of the web app.", operates=True),
    "keys": Place("accounts.key_commands", "Manage API keys.", operates=True),
    "sessions": Place("sessions.commands", "List and end sessions of the web app.", operates=True),
    "credits": Place("accounts.operator_commands", "Show and add credits.", operates=True),
    "hosting-fees": Place(
        "accounts.operator_commands", "Mark hosting fees as due or paid.", operates=True
    ),
    "audit": Place("audit.commands", "Show the audit log.", operates=True),
    "config": Place("accounts.operator_commands", "Show the settings.", operates=True),
    "db": Place("accounts.operator_commands", "Upgrade and maintain the database.", operates=True),
    "limits": Place("operations.commands", "Show and set limits of an account.", operates=True),
    "jobs": Place(
        "jobs.operator_commands", "Retry or fail jobs that wait for their code.", operates=True
    ),
    "nodes": Place("nodes.commands", "List the server processes.", operates=True),
    "maintenance": Place("operations.commands", "Switch the API off and on.", operates=True),
}
HEADINGS: Final = {
    "serve": "The server",
    "login": "Calling a server",
    "login-link": "Operating a server",
}
"""The headings in the program's help, each with the first command below it."""


class Group(TyperGroup):
    """A command that has commands. Its own options do not need pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """See `TyperGroup.get_params`.

        typer converts a flag that is absent and has no default with pydantic, whose import takes
        longer than to print the help of the command that follows. False needs no conversion.
        """
        parameters = super().get_params(ctx)
        for option in parameters:
            if isinstance(option, TyperOption) and option.is_flag and option.default is None:
                option.default = False
        return parameters


class Command(TyperCommand):
    """A command that a shell completes without pydantic, whose import takes longer than the rest.
    For completion it only matters which options were typed, so their values are not converted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `TyperCommand.parse_args`; ``resilient_parsing`` is how completion calls it."""
        parameters = self.get_params(ctx) if ctx.resilient_parsing else []
        for parameter in parameters:
            setattr(parameter, _CONVERSION, _as_typed)
        try:
            return super().parse_args(ctx, args)
        finally:
            for parameter in parameters:
                delattr(parameter, _CONVERSION)


def _as_typed(ctx: object, value: Any) -> Any:
    return value


_DECLARED: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {}
"""The functions of the commands and their options, by their words."""
Function = TypeVar("Function", bound=Callable[..., Any])


def command(
    words: str, *examples: str, epilog: str = "", **options: Any
) -> Callable[[Function], Function]:
    """Declare a function as the command of these words, such as ``work list``.

    One that returns a `printing.Result` has the option ``--json``, and its result is printed.

    Args:
        examples: calls of it, for its help.
        epilog: the last lines of its help.
        options: others of `typer.Typer.command`.
    """
    lines = "\n".join(f"  {line}" for text in examples for line in text.splitlines())
    examples_text = f"\b\nExamples:\n{lines}"  # \b keeps the lines as they are
    options["epilog"] = f"{examples_text}\n\n{epilog}" if epilog else examples_text

    def declare(function: Function) -> Function:
        # The first sentence, whole: typer would cut it.
        paragraph = " ".join((function.__doc__ or "").partition("\n\n")[0].split())
        options["short_help"] = paragraph.partition(". ")[0].removesuffix(".") + "."
        answer = function.__annotations__["return"]  # a text in modules that name it before it is
        has_result = getattr(answer, "__name__", answer) == "Result"
        _DECLARED[words] = (_printing(words, function) if has_result else function, options)
        return function

    return declare


def _printing(words: str, function: Callable[..., Any]) -> Callable[..., None]:
    """The command with ``--json`` as its last option."""

    @wraps(function)
    def run(as_json: bool, **values: Any) -> None:
        prints_json.set(as_json)
        command_words.set(words)
        function(**values).print()

    parameters = [*signature(function, eval_str=True).parameters.values(), _JSON]
    vars(run)["__signature__"] = signature(function).replace(parameters=parameters)
    return run


class Commands(UserDict[str, Any]):
    """The commands by their names, in the order of `PLACES`; each is loaded when it is used."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(PLACES))

    def __getitem__(self, name: str) -> Any:
        return load_command(name)


@cache
def load_command(name: str) -> Any:
    """The command with that name, which may have commands below it."""
    place = PLACES[name]
    for module in place.modules.split():
        import_module(f"agentpost.{module}")
    program = part = typer.Typer(rich_markup_mode=None)
    program.callback()(_nothing)  # else a single command would be taken for the whole program
    if name not in _DECLARED:
        part = typer.Typer(
            cls=Group, help=place.summary, no_args_is_help=True, rich_markup_mode=None
        )
        program.add_typer(part, name=name)
    for words, (function, options) in _DECLARED.items():
        if words.split()[0] == name:
            part.command(words.split()[-1], cls=Command, **options)(function)
    loaded = typer.main.get_group(program).commands[name]
    _name_values(loaded)
    return loaded


def _name_values(command: Any) -> None:
    """Show values in capitals (``MESSAGE_ID``, ``--port N``) instead of the types of Python."""
    for inner in getattr(command, "commands", {}).values():
        _name_values(inner)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = parameter.metavar or parameter.name.upper()
            usage = name if parameter.required else f"[{name}]"
            parameter.metavar = name
            parameter.get_usage_pieces = lambda ctx, usage=usage: [usage]
            parameter.display_type_rich = lambda ctx: ""
        elif parameter.metavar is None and not parameter.is_flag:
            parameter.metavar = _VALUES.get(parameter.bare_type(), "TEXT")


def _nothing() -> None:
    """What typer calls before a command."""
