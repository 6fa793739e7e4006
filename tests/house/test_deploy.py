"""What a server is deployed with fits the code: names, ports, paths, users, times and sizes.

Dockerfile, compose.yaml, deploy/ and the page about them. Real linters read them, too; those that
are too large to be installed for the tests are run by `make deploy`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from agentpost.domain import limits
from agentpost.settings import NOT_OURS, PREFIX, Settings
from tests import programs
from tests.e2e.receivers import receiving
from tests.house.tree import DOCS, ROOT, SERVER, SRC, document, uv

DEPLOY = ROOT / "deploy"
KUBERNETES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
PROXIES = tuple(
    DEPLOY / "proxy" / name for name in ("Caddyfile", "nginx.conf", "nginx-prefix.conf")
)
UNIT = DEPLOY / "systemd/agentpost.service"
FILES = [
    ROOT / "Dockerfile",
    ROOT / "compose.yaml",
    DOCS / "deploying.md",
    DEPLOY / "compose.env.example",
    UNIT,
    *PROXIES,
    *KUBERNETES,
]
DEFAULTS = tomllib.loads(document(SRC / "defaults.toml"))
DOCKERFILE = document(ROOT / "Dockerfile")
IMAGE = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
"""The last stage, which is what runs."""
ENV_LINE = re.compile(rf"\b{PREFIX}[A-Z_]+")
BYTES = {"MB": 10**6, "MiB": 2**20, "m": 2**20}
"""As Caddy (the first two) and nginx count them."""
LIVE, READY = "/healthz", "/readyz"


@cache
def kinds() -> dict[str, list[Any]]:
    """Every object of the manifests, by kind."""
    found: dict[str, list[Any]] = {}
    for path in KUBERNETES:
        for each in yaml.safe_load_all(document(path)):
            found.setdefault(each["kind"], []).append(each)
    return found


def pods() -> Iterator[tuple[str, Any]]:
    """Name and template of what runs pods."""
    for each in [*kinds()["Deployment"], *kinds()["Job"]]:
        yield each["metadata"]["name"], each["spec"]["template"]


@cache
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(document(ROOT / "compose.yaml"))
    return read


def number(module: str, name: str) -> float:
    """A constant of a module, without importing what it imports."""
    found = re.search(rf"^{name} = ([\d._]+)$", document(SRC / module), re.M)
    assert found, f"{module} has no {name}"
    return float(found[1])


def stop_seconds() -> float:
    """How long an orderly stop may take before connections to other servers are closed, with the
    default settings."""
    waits = DEFAULTS["drain_seconds"] + DEFAULTS["step_grace_seconds"]
    ends = number("serving/process.py", "_STOP_SECONDS") + number("server.py", "STOP_SECONDS")
    return float(waits + ends)


def drain_seconds() -> float:
    """How long the pods of several serve while they drain."""
    [config] = kinds()["ConfigMap"]
    return float(config["data"][f"{PREFIX}DRAIN_SECONDS"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields} | NOT_OURS
    assert sorted(set(ENV_LINE.findall(document(path))) - known) == []


def test_the_image_is_not_roots_and_listens_on_the_port() -> None:
    users = re.findall(r"^USER (\S+)$", IMAGE, re.M)
    assert [user for user in users if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)] == []
    assert users, "nobody but root is named"
    assert f"useradd --uid {users[-1].partition(':')[0]} " in IMAGE
    port = DEFAULTS["port"]
    assert f"EXPOSE {port}\n" in IMAGE
    assert f"{PREFIX}PORT={port}" in IMAGE
    data = re.search(rf"{PREFIX}DATA_DIR=(\S+)", IMAGE)
    assert data
    assert f'VOLUME ["{data[1]}"]' in IMAGE


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_the_image_asks_whether_the_server_answers(status: int, code: int) -> None:
    """The command of the health check, against a server that answers so."""
    found = re.search(r"^HEALTHCHECK .*?CMD (\[[^\n]*\])$", IMAGE, re.M | re.S)
    assert found
    program, *arguments = json.loads(found[1])
    assert program == "python"
    with receiving(status) as server:
        env = {f"{PREFIX}PORT": str(server.port)}
        done = subprocess.run([sys.executable, *arguments], env=env, timeout=60, check=False)
    assert (done.returncode, [each.path for each in server.got]) == (code, [LIVE])


def test_the_image_has_what_it_is_built_from() -> None:
    """Whatever is copied is let through by .dockerignore; the extras are there."""
    let_through = {line[1:] for line in document(ROOT / ".dockerignore").split() if line[0] == "!"}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M)
    for name in " ".join(copied).split():
        assert name == "." or any(name.startswith(each) for each in let_through), name
    assert [name for name in let_through if not (ROOT / name).exists()] == []
    packages = tomllib.loads(document(SERVER / "pyproject.toml"))["project"]
    extras = re.search(r'ARG EXTRAS="([^"]+)"', DOCKERFILE)
    assert extras
    assert sorted(set(extras[1].split()) - packages["optional-dependencies"].keys()) == []
    built = re.search(r"image: agentpost:(\S+)", document(ROOT / "compose.yaml"))
    assert built
    assert packages["version"].startswith(f"{built[1]}.")


def test_the_image_is_built_from_what_is_copied(tmp_path: Path) -> None:
    """Both installing commands of the Dockerfile, in folders with exactly what it has copied by
    then. The first only resolves, with every extra; the second installs the server without any."""
    first, second = re.findall(r"^RUN --mount=\S+ \\\n((?:.*\\\n)*.*\n)", DOCKERFILE, re.M)[:2]
    extras = re.search(r'ARG EXTRAS="([^"]+)"', DOCKERFILE)
    assert extras
    named, whole = tmp_path / "named", tmp_path / "whole"
    before = DOCKERFILE[: DOCKERFILE.index(first)]
    for sources, target in re.findall(r"^COPY (?!--from)(.+) (\S+)$", before, re.M):
        (named / target).mkdir(parents=True, exist_ok=True)
        for name in sources.split():
            shutil.copy(ROOT / name, named / target)
    whole.mkdir()
    copy_context(whole)
    environment = tmp_path / "environment"
    for command, folder, asked in (
        (first.replace("uv sync", "uv sync --dry-run"), named, extras[1]),
        (second, whole, ""),
    ):
        variables = {"EXTRAS": asked, "UV_PROJECT_ENVIRONMENT": str(environment)}
        command = command.replace("uv sync", f"{uv()} sync")
        programs.printed("sh", "-e", "-c", command, cwd=folder, env={**os.environ, **variables})
    version = tomllib.loads(document(SERVER / "pyproject.toml"))["project"]["version"]
    shown = programs.printed(environment / "bin/agentpost", "--version")
    assert shown == f"agentpost {version}\n"


def copy_context(target: Path) -> None:
    """Copy what `.dockerignore` lets through, which is all that `COPY . .` finds."""
    lines = [line for line in document(ROOT / ".dockerignore").splitlines() if line[:1] not in "#"]
    barred = [line.removeprefix("**/") for line in lines if line not in "*" and line[0] != "!"]

    def ignore(folder: str, names: list[str]) -> set[str]:
        paths = ((name, Path(folder, name).relative_to(ROOT)) for name in names)
        return {name for name, path in paths if any(path.match(each) for each in barred)}

    for name in (line[1:] for line in lines if line[0] == "!"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, target / name)


def test_probes_ask_for_what_is_served() -> None:
    served = document(SRC / "api/app.py")
    for path in (LIVE, READY):
        assert f'"{path}": ' in served
    probed = 0
    for name, template in pods():
        if name == "agentpost-upgrade":  # it ends
            continue
        [container] = template["spec"]["containers"]
        assert container["ports"] == [{"name": "http", "containerPort": DEFAULTS["port"]}]
        for kind, path in (("startup", LIVE), ("liveness", LIVE), ("readiness", READY)):
            assert container[f"{kind}Probe"]["httpGet"] == {"path": path, "port": "http"}, name
        probed += 1
    assert probed == 3


def test_pods_may_do_little_and_have_time_to_stop() -> None:
    user = int(re.findall(r"^USER (\d+)", IMAGE, re.M)[-1])
    for name, template in pods():
        pod = template["spec"]
        assert pod["enableServiceLinks"] is False, f"{name}: a Service would set AGENTPOST_PORT"
        assert pod["automountServiceAccountToken"] is False
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"]) == (True, user)
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounts = {each["mountPath"] for each in container["volumeMounts"]}
        assert mounts == {"/data", "/tmp"}
        if "terminationGracePeriodSeconds" in pod:
            drain = 0 if name == "agentpost" else drain_seconds()
            assert pod["terminationGracePeriodSeconds"] > drain + stop_seconds(), name
            probe = container["readinessProbe"]
            if drain:  # the pod serves until balancers know
                assert drain > probe["periodSeconds"] * probe["failureThreshold"], name


def test_selectors_find_pods() -> None:
    labels = [template["metadata"]["labels"] for _, template in pods()]
    for each in [*kinds()["Service"], *kinds()["PodDisruptionBudget"], *kinds()["Deployment"]]:
        selector = each["spec"]["selector"]
        wanted = selector.get("matchLabels", selector)
        assert any(wanted.items() <= have.items() for have in labels), each["metadata"]


def test_no_secret_is_in_a_file() -> None:
    """Compose takes each from .env, whose example is empty; the template's are placeholders."""
    asked = set(re.findall(r"\$\{(\w+)[:}]", document(ROOT / "compose.yaml")))
    example = dict(re.findall(r"^(\w+)=(.*)$", document(DEPLOY / "compose.env.example"), re.M))
    assert asked == example.keys()
    assert {name for name, value in example.items() if value} == {"BASE_URL", "UPLOAD_URL"}
    [secret] = kinds()["Secret"]
    assert [name for name, text in secret["stringData"].items() if "replace-me" not in text] == []
    fields = Settings.model_fields.items()
    secrets = {f"{PREFIX}{name}".upper() for name, field in fields if field.annotation is SecretStr}
    assert f"{PREFIX}DATABASE_URL" in secrets
    [settings] = kinds()["ConfigMap"]
    assert sorted(secrets & settings["data"].keys()) == []


def test_compose_fits_the_image() -> None:
    services = compose()["services"]
    port = DEFAULTS["port"]
    assert services["api"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    for name in ("api", "worker"):
        assert services[name]["command"] == ["serve", "--role", name]
        assert services[name]["read_only"] is True
        assert float(services[name]["stop_grace_period"].removesuffix("s")) > stop_seconds()
    dumps = re.search(r"^ARG POSTGRES_CLIENT=(\d+)$", IMAGE, re.M)
    serves = re.search(r"/postgres:(\d+)-", services["postgres"]["image"])
    assert dumps
    assert serves
    assert int(dumps[1]) >= int(serves[1]), "pg_dump refuses a newer server"
    published = [port for each in services.values() for port in each.get("ports", [])]
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_the_unit_gives_the_server_time_to_stop() -> None:
    unit = document(UNIT)
    stop = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.M)
    assert stop
    assert int(stop[1]) > stop_seconds()
    assert re.search(r"^User=(?!root)\w+$", unit, re.M)


def test_proxies_fit_the_limits() -> None:
    for path in PROXIES:
        text = document(path)
        assert f"127.0.0.1:{DEFAULTS['port']}" in text, path.name
        sizes = re.findall(r"(?:max_size|client_max_body_size) (\d+)(\w+)", text)
        assert len(sizes) == (1 if path.name == "nginx-prefix.conf" else 2)
        for size, unit in sizes:
            assert int(size) * BYTES[unit] > limits.UPLOAD_BYTES_MAX, f"{path.name}: {size}{unit}"
    for path in PROXIES[1:]:
        held = re.search(r"proxy_pass .*?proxy_read_timeout (\d+)s;", document(path), re.S)
        assert held
        assert int(held[1]) > DEFAULTS["door_wait_seconds"]
    nginx = document(PROXIES[1])
    idle = re.search(r"^ +keepalive_timeout (\d+)s;", nginx, re.M)
    assert idle
    assert int(idle[1]) < number("serving/process.py", "_KEEP_ALIVE_SECONDS")


@pytest.mark.skipif(not shutil.which("caddy"), reason="Caddy is not installed")
def test_caddy_takes_its_file(tmp_path: Path) -> None:
    """As Debian's package of Caddy reads it, where that is the one installed."""
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    command = ("caddy", "validate", "--adapter", "caddyfile", "--config", PROXIES[0])
    programs.printed(*command, env={**os.environ, **environment})


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    program = Path(sys.executable).with_name("hadolint")
    assert programs.printed(program, ROOT / "Dockerfile") == ""


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this system has no systemd")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    # The program is not installed here.
    unit.write_text(document(UNIT).replace("/opt/agentpost/bin/agentpost", sys.executable))
    done = programs.run("systemd-analyze", "verify", "--man=no", unit)
    found = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (done.returncode, found) == (0, [])
