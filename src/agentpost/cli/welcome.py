"""The lines printed when the server is up, and the first steps, once, on the first start."""

from __future__ import annotations

import base64
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from agentpost.server import Server
from agentpost.services.sessions import LOGIN_LINK_SECONDS
from agentpost.settings import Settings

SAMPLE = "month,revenue\nJan,120\nFeb,135\nMar,128\nApr,151\nMay,170\nJun,182\n"


def welcome(server: Server, settings: Settings) -> str:
    """A few lines for the terminal. A generated key is shown here and nowhere else."""
    url = settings.public_url
    lines = [f"agentpost is ready at {url}   (agent: {server.ctx.agent_name})"]
    first = server.first
    log_in = f"{_operator(settings)} login-link"
    if first is None:
        lines += [
            f"dashboard: {settings.public_app_url}/dashboard   (sign in by: {log_in})",
            f"data: {settings.data_path}",
        ]
        return "\n".join(lines)
    generated = not settings.bootstrap_api_key.get_secret_value()
    key = first.key.secret if generated else "$AGENTPOST_BOOTSTRAP_API_KEY"
    lines += [
        f"data: {settings.data_path}",
        "",
        "A default account was created. Its API key is shown only now:"
        if generated
        else "A default account was created with your bootstrap key.",
    ]
    if generated:
        lines.append(f"  {key}")
    if first.login is not None:
        minutes = LOGIN_LINK_SECONDS // 60
        text = f"Open the dashboard; this link works once, for {minutes} minutes:"
        lines += [
            "",
            text,
            f"  {first.login.url}",
            f"  (another: {log_in})",
        ]
    body, commands = _example(server.ctx.examples)
    lines += [
        "",
        "Try it: send a message in another terminal:",
        "",
        f"  curl -s {url}/v1/messages \\",
        f"    -H 'Authorization: Bearer {key}' \\"
        if generated
        else f'    -H "Authorization: Bearer {key}" \\',
        f"    -d {shlex.quote(json.dumps(body, ensure_ascii=False))}",
        "",
        "or, with live progress:",
        "",
        f"  export AGENTPOST_URL={url} AGENTPOST_KEY={key}",
        *(f"  {command}" for command in commands),
        "",
    ]
    return "\n".join(lines)


def _example(examples: tuple[str, ...] | None) -> tuple[dict[str, Any], list[str]]:
    """The body of a first message, and the commands that send the same."""
    if examples is None:
        file = base64.b64encode(SAMPLE.encode()).decode()
        body = {
            "message": "Chart revenue by month",
            "files": [{"name": "sales.csv", "base64": file}],
        }
        return body, [
            f"printf '{SAMPLE.encode('unicode_escape').decode()}' > sales.csv",
            f'{_command()} send "Chart revenue by month" --file sales.csv --save .',
        ]
    text = examples[0] if examples else "Hello"
    return {"message": text}, [f"{_command()} send {shlex.quote(text)} --save ."]


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
