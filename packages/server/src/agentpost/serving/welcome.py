"""The lines printed when the server is up, and the first steps, once, on the first start."""

import base64
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from agentpost.accounts.actions import DEFAULT_EMAIL
from agentpost.cli import private_files
from agentpost.server import FirstAccount, Server
from agentpost.sessions.actions import LOGIN_LINK_SECONDS
from agentpost.settings import Settings

FIRST_START: Final = "first-start.txt"
"""In the data folder: what a first start without a terminal would have printed."""
_CONVERSATION: Final = "customer-4711"
"""In the first examples, since messages without one share memory and files."""
SAMPLE = "month,revenue\nJan,120\nFeb,135\nMar,128\nApr,151\nMay,170\nJun,182\n"


def welcome(server: Server, settings: Settings) -> str:
    """A few lines for the terminal. A generated key is shown on the first start and never again.

    Where standard output is no terminal it is kept in a log, which more people read than may have
    the key and the login link: these are written to `FIRST_START` in the data folder instead.
    """
    lines = [f"agentpost is ready at {settings.public_url}   (agent: {server.ctx.agent_name})"]
    if server.first is None:
        place = f"{settings.public_app_url}/dashboard"
        lines.append(f"dashboard: {place}   (sign in by: {_operator(settings)} login-link)")
    lines.append(f"data: {settings.data_path}")
    if server.first is None:
        return "\n".join(lines)
    steps = _first_steps(server, server.first, settings)
    return "\n".join(lines + (steps if sys.stdout.isatty() else _write_steps(steps, settings)))


def _write_steps(steps: list[str], settings: Settings) -> list[str]:
    """Write the first steps to a file; what is printed instead of them."""
    path = settings.data_path / FIRST_START
    try:
        private_files.write(path, "\n".join(steps).strip() + "\n")
    except OSError as error:
        why = error.strerror or error
        return [
            "",
            f"A default account was created, but {path} cannot be written ({why}).",
            "Create another API key and a link to the dashboard:",
            f"  {_operator(settings)} keys create --account {DEFAULT_EMAIL} --name first",
            f"  {_operator(settings)} login-link",
        ]
    return [
        "",
        "A default account was created. This is not a terminal, so its API key, a link to the",
        "dashboard and a first message to try are in a file that only this user can read:",
        f"  {path}",
        "Keep the key elsewhere, then delete the file.",
    ]


def _first_steps(server: Server, first: FirstAccount, settings: Settings) -> list[str]:
    """The key, the login link, and a first message in two forms."""
    url = settings.public_url
    is_generated = not settings.bootstrap_api_key.get_secret_value()
    key = first.key.secret if is_generated else "$AGENTPOST_BOOTSTRAP_API_KEY"
    lines = [
        "",
        "A default account was created. Its API key is shown only now:"
        if is_generated
        else "A default account was created with your bootstrap key.",
    ]
    if is_generated:
        lines.append(f"  {key}")
    if first.login is not None:
        lines += [
            "",
            f"Open the dashboard; this link works once, for {LOGIN_LINK_SECONDS // 60} minutes:",
            f"  {first.login.url}",
            f"  (another: {_operator(settings)} login-link)",
        ]
    body, commands = _example(server.ctx.examples)
    quote = "'" if is_generated else '"'
    return [
        *lines,
        "",
        "Try it: send a message in another terminal:",
        "",
        f"  curl -s {url}/v1/messages \\",
        f"    -H {quote}Authorization: Bearer {key}{quote} \\",
        f"    -d {shlex.quote(json.dumps(body, ensure_ascii=False))}",
        "",
        "or, with live progress:",
        "",
        f"  export AGENTPOST_URL={url} AGENTPOST_KEY={key}",
        *(f"  {command}" for command in commands),
        "",
    ]


def _example(examples: tuple[str, ...] | None) -> tuple[dict[str, Any], list[str]]:
    """The body of a first message, and the commands that send the same."""
    if examples is None:
        file = base64.b64encode(SAMPLE.encode()).decode()
        body = {
            "message": "Chart revenue by month",
            "conversation": _CONVERSATION,
            "files": [{"name": "sales.csv", "base64": file}],
        }
        send = f'{_command()} send "Chart revenue by month" --file sales.csv'
        return body, [
            f"printf '{SAMPLE.encode('unicode_escape').decode()}' > sales.csv",
            f"{send} --conversation {_CONVERSATION} --save .",
        ]
    text = examples[0] if examples else "Hello"
    command = f"{_command()} send {shlex.quote(text)} --conversation {_CONVERSATION} --save ."
    return {"message": text, "conversation": _CONVERSATION}, [command]


def _command() -> str:
    """How the command is called from the current folder."""
    if shutil.which("agentpost"):
        return "agentpost"
    program = Path(sys.executable).with_name("agentpost")
    here = Path.cwd()
    return str(program.relative_to(here) if program.is_relative_to(here) else program)


def _operator(settings: Settings) -> str:
    """The same for commands that work on the data folder: it has to be the one that is served."""
    if settings.data_dir and not settings.database_url.get_secret_value():
        return f"AGENTPOST_DATA_DIR={shlex.quote(str(settings.data_path))} {_command()}"
    return _command()
