"""From the setting ``AGENT`` to an agent function (design: Where author's code runs)."""

import importlib
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from agentpost import extras
from agentpost.agents.adapters import conversing
from agentpost.agents.adapters.bound import bind
from agentpost.agents.adapters.recording import Charge
from agentpost.agents.adapters.surroundings import Surroundings
from agentpost.agents.base import AgentFn

WORKER_IMPORTS = "WORKER_IMPORTS"
"""The name under which an agent's module lists modules for worker processes."""
CHARGE = "CHARGE"
"""The name under which the module of a framework's agent has a function that says what a model call
costs, in credits."""
WARM_UP = "WARM_UP"
"""The name under which an agent's module has a coroutine function that loads what turns need."""
EXAMPLES = "EXAMPLES"
"""The name under which an agent's module lists messages to try it with; None: those with a table of
sales."""
SCHEMES = {
    "a2a": "agentpost.agents.adapters.a2a",
    "cmd": "agentpost.agents.adapters.cmd",
    "http": "agentpost.agents.adapters.http",
    "https": "agentpost.agents.adapters.http",
    "llm": "agentpost.agents.llm.agent",
}
"""The adapters whose agents are no objects of Python, by what stands before the colon."""
FRAMEWORKS = {
    ("pydantic_ai", "AbstractAgent"): ("agentpost.agents.adapters.pydantic_ai", "PydanticAI"),
    ("langgraph", "Pregel"): ("agentpost.agents.adapters.langgraph", "LangGraph"),
    ("agents.agent", "Agent"): ("agentpost.agents.adapters.openai_agents", "OpenAIAgents"),
}
"""The package, or module, and the class that an object has among its classes, and the adapter for
it: nothing is imported to tell. A package called agents may be anybody's."""
_FORMS = (
    "is neither 'offline' nor 'module:object', nor 'cmd:…', 'http:…' or 'a2a:…' (docs/adapters.md),"
    " nor 'llm:provider:model' (docs/llm.md)"
)
ENTRY_POINTS = "agentpost.agents"
"""The group of entry points in which an installed distribution names its agents."""
# Asked once: it takes a third of a millisecond, and each module of the process is asked about.
_STDLIB = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = tuple(f"{os.sep}{folder}{os.sep}" for folder in ("site-packages", "dist-packages"))


class UnknownAgent(Exception):
    """The setting names no agent that can be used; the text says why, in a line or, for an error in
    the author's code, in a few with the place in it."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent function with the name clients see, and the modules its steps will import.

    ``warm_up`` loads what the first turn would have to wait for; None when the agent has none.
    ``attach`` is given what the server has for an agent that is no code of this process.
    ``examples`` are messages to try it with; None when it takes those with a table of sales.
    """

    name: str
    run: AgentFn
    worker_imports: tuple[str, ...] = ()
    warm_up: Callable[[], Coroutine[Any, Any, None]] | None = None
    attach: Callable[[Surroundings], None] | None = None
    examples: tuple[str, ...] | None = None


def resolve(spec: str) -> Agent:
    """The agent a setting names: the name of an installed agent such as ``offline``,
    ``module:object`` or one of `SCHEMES`; raises `UnknownAgent`, and `MissingExtra` when the
    libraries of the built-in agent, or of one whose model is a service, are not installed.
    """
    if spec == "offline":
        extras.require("offline", extras.OFFLINE_ASKED)
    scheme, _, rest = spec.partition(":")
    if spec and ":" not in spec:
        return _of_code(_installed_agent(spec), spec)
    if not scheme or not rest:
        raise UnknownAgent(f"AGENTPOST_AGENT={spec!r} {_FORMS}.")
    if scheme == "llm":
        extras.require("llm", extras.LLM_ASKED)
    if scheme in SCHEMES:
        return _of_scheme(spec, scheme, rest)
    return _of_code(spec, _name(spec))


def is_code(spec: str) -> bool:
    """Whether the agent is code that a server may run in processes of its own, and not elsewhere
    already."""
    return spec.partition(":")[0] not in SCHEMES


def _of_code(place: str, name: str) -> Agent:
    """The agent that is an object of Python, at ``module:object``."""
    run = _load(place)
    imports, warm_up = _attribute(place, WORKER_IMPORTS, ()), _attribute(place, WARM_UP)
    return Agent(name, run, imports or (), warm_up, examples=_attribute(place, EXAMPLES, ()))


def _installed_agent(name: str) -> str:
    """The place, ``module:object``, of the agent that an installed distribution calls so: the one
    of that name, as ``agentpost-offline``, else any of all. To look at all takes 15 ms."""
    from importlib.metadata import PackageNotFoundError, distribution, entry_points

    try:
        names = distribution(f"agentpost-{name}").entry_points.select(group=ENTRY_POINTS)
    except (PackageNotFoundError, ValueError):
        names = entry_points(group=ENTRY_POINTS)
    places = {entry.value for entry in names if entry.name == name}
    if len(places) == 1:
        return places.pop()
    if places:
        raise UnknownAgent(
            f"AGENTPOST_AGENT={name!r}: more than one installed distribution has an agent of that"
            f" name ({', '.join(sorted(places))}). Write which one: module:object."
        )
    there = ", ".join(sorted(entry.name for entry in names)) or "none"
    raise UnknownAgent(
        f"AGENTPOST_AGENT={name!r} {_FORMS}, nor the name of an installed agent ({there})."
    )


def _of_scheme(spec: str, scheme: str, rest: str) -> Agent:
    """The agent that an adapter reaches; its module is imported only here."""
    module = importlib.import_module(SCHEMES[scheme])
    try:
        adapter = module.agent_of(spec if scheme == "https" else rest)
    except ValueError as error:
        raise UnknownAgent(f"AGENTPOST_AGENT={spec!r}: {error}.") from None
    warm_up = getattr(adapter, "warm_up", None)
    examples = None if scheme == "llm" else ()
    return Agent(
        scheme, adapter.take_turn, attach=adapter.attach, warm_up=warm_up, examples=examples
    )


def _load(spec: str) -> AgentFn:
    module_name, _, attribute = spec.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    value: Any = _import(spec, module_name, here)
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise UnknownAgent(f"AGENTPOST_AGENT={spec!r}: {module_name} has no {attribute!r}.")
        value = getattr(value, part)
    adapter = adapter_of(value)
    if adapter is None:
        return _check(spec, value)
    try:
        return adapt(adapter, value, _attribute(spec, CHARGE))
    except ValueError as error:
        raise UnknownAgent(f"AGENTPOST_AGENT={spec!r}: {error}.") from None


def adapt(adapter: tuple[str, str], candidate: object, charge: Charge | None) -> AgentFn:
    """The agent function for a framework's object, whose jobs are run by this process, too."""
    module, name = adapter
    framework = getattr(importlib.import_module(module), name)(candidate, charge)
    bind(framework.kind, framework)
    return partial(conversing.take_turn, framework)


def adapter_of(candidate: object) -> tuple[str, str] | None:
    """Module and class of the adapter for an object; None when it is of no known framework."""
    for kind in type(candidate).__mro__:
        for place in (kind.__module__, kind.__module__.partition(".")[0]):
            if (place, kind.__name__) in FRAMEWORKS:
                return FRAMEWORKS[place, kind.__name__]
    return None


def _attribute(spec: str, name: str, default: Any = None) -> Any:
    """The value of one of the names above in the agent's module; raises `UnknownAgent` for one that
    the name cannot have."""
    value = getattr(sys.modules[spec.partition(":")[0]], name, default)
    is_right, rule = _RULES[name]
    if value is not None and not is_right(value):
        raise UnknownAgent(f"AGENTPOST_AGENT={spec!r}: its {name} must be {rule}.")
    return tuple(value) if isinstance(value, list) else value


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    CHARGE: (
        callable,
        "a function that takes what a model call used and returns credits: def price(usage)",
    ),
    WORKER_IMPORTS: (_is_texts, "a list of names of modules"),
    WARM_UP: (
        inspect.iscoroutinefunction,
        "a coroutine function without arguments: async def load()",
    ),
    EXAMPLES: (
        lambda value: _is_texts(value) and all(map(str.strip, value)),
        'a list of messages to try it with: EXAMPLES = ["What is the weather in Paris?"]',
    ),
}


def _import(spec: str, module_name: str, here: str) -> ModuleType:
    """The agent's module; whatever goes wrong in it is raised as `UnknownAgent`."""
    if module_name.endswith(".py") or not all(map(str.isidentifier, module_name.split("."))):
        raise UnknownAgent(
            f"AGENTPOST_AGENT={spec!r}: {module_name!r} is not the name of a module. Write"
            " module:object with dots for folders and without .py, e.g. shop.support:agent."
        )
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise _broken(spec, error) from None  # the module is there, something it imports is not
        raise UnknownAgent(
            f"AGENTPOST_AGENT={spec!r}: there is no module {module_name!r} in {here}"
            " or on PYTHONPATH."
        ) from None
    except (Exception, SystemExit) as error:
        raise _broken(spec, error) from None


def _broken(spec: str, error: BaseException) -> UnknownAgent:
    """The place in the author's code and what Python says about it, without the other frames."""
    lines = [f"AGENTPOST_AGENT={spec!r} cannot be imported:\n"]
    if not (isinstance(error, SyntaxError) and error.filename):  # those tell their own place
        lines += _location(error)
    lines += traceback.format_exception_only(error)
    return UnknownAgent("".join(lines).rstrip())


def _location(error: BaseException) -> list[str]:
    """The innermost line outside of Python and of installed packages; else the innermost one."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and not frame.filename.startswith("<frozen ")
    ]
    own = [frame for frame in frames if not is_installed(frame.filename)]
    return traceback.format_list((own or frames)[-1:])


def is_installed(filename: str) -> bool:
    """Whether it is a file of Python itself or of an installed package."""
    return filename.startswith(_STDLIB) or any(folder in filename for folder in _INSTALLED)


def _check(spec: str, candidate: Any) -> AgentFn:
    method = getattr(type(candidate), "__call__", None)  # noqa: B004 - an object may be the agent
    call = candidate if inspect.isroutine(candidate) else method
    if not inspect.iscoroutinefunction(call):
        kind = f"{type(candidate).__module__}.{type(candidate).__qualname__}"
        raise UnknownAgent(
            f"AGENTPOST_AGENT={spec!r} is a {kind}; it must be a coroutine function:"
            " async def agent(turn), or an agent of a framework that docs/adapters.md names."
        )
    run: AgentFn = candidate
    return run


def _name(spec: str) -> str:
    """``shop.support:agent`` is called ``support``: the object's name says nothing."""
    module, _, attribute = spec.partition(":")
    return module.rpartition(".")[2] if attribute == "agent" else attribute
