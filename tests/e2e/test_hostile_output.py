"""No command lets what agents, callers and servers wrote drive the terminal.

`EVIL` stands wherever one of them may write it. Each command is run as a person reads it and with
`--json`; a command that is added has to be listed here.
"""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from typer.testing import CliRunner, Result

from agentpost.cli import app
from agentpost.cli.commands import PLACES
from tests.e2e.caller import Caller
from tests.e2e.server import KEY, AgentServer
from tests.house.tree import SRC
from tests.servers import free_port
from tests.waiting import eventually

EVIL = "\x1b]0;t\x07\x1b[2J\x9b2J\x7f\u202egpj.exe"
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
AGENT = f"""
EVIL = {EVIL!r}

async def work(job):
    print(EVIL)
    await job.progress(EVIL)
    await job.charge(0.5, EVIL)
    await job.write("a.txt", EVIL, label=EVIL)
    await job.output({{EVIL: EVIL}})
    job.ask(EVIL, choices=[EVIL, "no"])
    return EVIL

async def agent(turn):
    if "fail" in turn.message.text:
        raise ValueError(EVIL)
    print(EVIL)
    await turn.start(work, title=EVIL)
    turn.reply(EVIL)
"""
COMMANDS = [
    "send {evil}",
    "follow {message}",
    "recover {message}",
    "messages list",
    "messages show {message}",
    "messages show {failed}",
    "files list {message}",
    "files get {file}",
    "work list",
    "work show {work}",
    "schedules list",
    "schedules show {schedule}",
    "upload {upload}",
    "me",
    "usage",
    "webhooks list",
    "webhooks show {endpoint}",
    "webhooks deliveries {endpoint}",
    "webhooks test {endpoint}",
    "events list",
    "requests show {request}",
    "requests show {request} --curl",
    "verify --list",
    "explain {message}",
    "explain {failed}",
    "doctor",
    "login-link",
    "accounts list",
    "users list",
    "keys list",
    "sessions list",
    "credits show {email}",
    "hosting-fees clear {email}",
    "audit",
    "config show",
    "limits show {email}",
    "nodes",
    "maintenance off",
    "db reencrypt",
    "db secret-key",
    "backup {backups}",
    "restore {backups}",
    "messages show msg_{evil}",
    "work show wrk_{evil}",
    "keys revoke {evil}",
    "credits show {evil}",
]
PRINTERS = {"errors.py", "printing.py", "show.py", "tables.py"}
ELSEWHERE = {
    "serve": "its log: packages/server/tests/observability",
    "dev": "as serve",
    "new": "prints nothing of others",
    "chat": "prints as send does (packages/server/tests/cli/test_given.py)",
    "login": "prints nothing of others",
    "jobs": "prints the id that it was given",
    "logout": "prints nothing of others",
    "profiles": "prints nothing of others",
    "mcp": "speaks JSON with a program",
    "listen": "does not end by itself (packages/server/tests/cli/test_listen.py)",
    "trigger": "needs a server that takes webhooks (packages/server/tests/cli/test_listen.py)",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    home = tmp_path_factory.mktemp("server")
    (home / "hostile_agent.py").write_text(AGENT)
    with AgentServer(home, agent="hostile_agent:agent", egress_allow="127.0.0.1").start() as made:
        yield made


@pytest.fixture(scope="module")
def names(server: AgentServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What stands for the words in braces. Everything is there when it is given."""
    folder = tmp_path_factory.mktemp("names")
    caller = Caller(server)
    receiver = f"http://127.0.0.1:{free_port()}/{quote(EVIL)}"
    hook = {"url": receiver, "enabled_events": ["*"], "description": EVIL}
    endpoint = caller.call("POST", "/v1/webhooks", json=hook).json()["id"]
    files = [{"name": f"{EVIL}.txt", "base64": "YQ=="}]
    fields = {"metadata": {"note": EVIL}, "conversation": EVIL, "files": files}
    message = caller.send(EVIL, **fields)
    failed = caller.send("fail", conversation="failing")
    request = caller.post(EVIL, conversation="requested").headers["Request-Id"]
    eventually(lambda: caller.call("GET", f"/v1/requests/{request}").status_code == 200)
    planned = {"message": EVIL, "metadata": {"note": EVIL}}
    plan = {"message": planned, "cron": "0 8 1 1 *"}
    schedule = caller.call("POST", "/v1/schedules", json=plan).json()["id"]
    done = caller.until_message(message["id"], status="needs_input")
    email = "evil@example.com"
    run(server, "accounts", "create", "--email", email, "--name", EVIL)
    run(server, "keys", "create", "--account", email, "--name", EVIL)
    run(server, "credits", "add", email, "5", "--note", EVIL)
    run(server, "keys", "revoke", EVIL)
    (folder / f"{EVIL}.txt").write_text("a")
    return {
        "message": message["id"],
        "failed": failed["id"],
        "work": done["jobs"][0]["work_id"],
        "file": done["files"][0]["file_id"],
        "schedule": schedule,
        "endpoint": endpoint,
        "request": request,
        "email": email,
        "upload": str(folder / f"{EVIL}.txt"),
        "backups": str(folder / f"backups {EVIL}"),
        "evil": EVIL,
    }


def run(server: AgentServer, *arguments: str) -> Result:
    """The command in the environment of the server, and of a caller."""
    folder = server.home
    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(folder)
        environment.setenv("AGENTPOST_DATA_DIR", str(folder / "data"))
        environment.setenv("AGENTPOST_URL", server.url)
        environment.setenv("AGENTPOST_KEY", KEY)
        environment.setenv("XDG_CONFIG_HOME", str(folder))
        environment.setenv("XDG_STATE_HOME", str(folder))
        return CliRunner().invoke(app, arguments)


def test_every_command_is_here() -> None:
    tried = {command.split()[0] for command in COMMANDS}
    assert tried | set(ELSEWHERE) == set(PLACES)


def is_run(result: Result) -> bool:
    """Whether the command was called as it has to be, and ended as commands do."""
    as_usual = result.exception is None or isinstance(result.exception, SystemExit)
    return as_usual and "See: agentpost" not in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_drives_the_terminal_and_json_stays_json(
    server: AgentServer, names: dict[str, str], command: str
) -> None:
    """With the same values, since the characters are escaped."""
    words = [word.format(**names) for word in command.split()]
    ways = [words] if "--curl" in words else [words, [*words, "--json"]]
    for way in ways:
        result = run(server, *way)
        assert is_run(result), result.output
        assert HIDDEN.findall(result.output) == []
    if "--curl" not in words:
        is_indented = result.stdout[1:2] == "\n"
        values = [result.stdout] if is_indented else result.stdout.splitlines()
        read = [json.loads(value) for value in values]
        if command == "messages show {message}":
            assert read[0]["reply"] == EVIL


def test_there_is_no_other_way_to_print() -> None:
    """What is printed goes through `cli.printing`, `cli.show` or `cli.errors`, and a command
    returns one result for both forms: it has no JSON that it prints by itself."""
    printing = re.compile(
        r"(?<![\w.])print\(|\.(secho|echo|print)\((?!\))|std(out|err)\.write\(|print_json\("
    )
    others = [
        f"{path.name}: {line.strip()}"
        for path in sorted({*(SRC / "cli").glob("*.py"), *SRC.rglob("*commands.py")})
        if path.name not in PRINTERS
        for line in path.read_text().splitlines()
        if printing.search(line)
    ]
    assert others == []
