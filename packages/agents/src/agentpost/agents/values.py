"""What may be recorded: values, names of functions and errors, each as plain JSON, since a recorded
call must mean the same after a crash, in another process and on another node. A `File` may stand
anywhere, a function is its import name, an exception its class and text (design: The journal)."""

import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import json
import math
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from agentpost.agents.base import StepFailed
from agentpost.agents.files import File, FileSource
from agentpost.domain.text import UNSTORABLE

VALUE_BYTES_MAX: Final = 1024 * 1024
"""Largest recorded value, in bytes of its JSON text (design: The journal)."""

VALUE_DEPTH_MAX: Final = 200
"""Deepest nesting of a recorded value, in levels; also what stops a value that holds itself."""

ERROR_TEXT_CHARS_MAX: Final = 10_000
"""Longest recorded text of an exception, in characters; the rest is cut off."""

_TRACE_CHARS_MAX: Final = 20_000

SUMMARY_CHARS_MAX: Final = 300
"""Longest summary of a call, in characters."""

_FILE_FIELDS: Final = tuple(
    field.name for field in fields(File) if field.name not in ("source", "local_path")
)
_CLASS_NAMES: Final = "__agentpost_class_names__"
_ELSEWHERE: Final = "__agentpost_elsewhere__"
_FILE_KEY: Final = "$file"
# A user's own "$file" key (and "$$file" and so on) gets one more dollar on the way out.
_OWN_FILE_KEY: Final = re.compile(r"\$+file")
_ESCAPED_FILE_KEY: Final = re.compile(r"\$\$+file")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_CANONICAL: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)

_F = TypeVar("_F", bound=Callable[..., object])
_Where: TypeAlias = "tuple[_Where, str | int] | None"
_FileForm: TypeAlias = Callable[[File], dict[str, Any]]


class MissingFunction(Exception):
    """A recorded function name cannot be imported any more; the text says which and why."""


def dump(value: object) -> str:
    """The canonical JSON text of a value: sorted keys, no spaces, tuples as lists.

    Raises `TypeError` for what JSON has no form for and `ValueError` for what cannot be stored
    (NaN and the infinities, lone surrogates, U+0000, too deep, over `VALUE_BYTES_MAX`); both name
    the place in the value. What a `File` knows of its bytes' whereabouts is not recorded.
    """
    text = _encode(value, _recorded_form)
    size = len(text) if text.isascii() else len(text.encode())
    if size > VALUE_BYTES_MAX:
        raise ValueError(
            f"the value has {size} bytes as JSON, the limit is {VALUE_BYTES_MAX}; "
            "write large results to a file of the work"
        )
    return text


def dump_local(value: object) -> str:
    """Like `dump`, with each file's `local_path`: for a worker process on this machine.

    Without the size limit, which was applied when the call was recorded.
    """
    return _encode(value, _local_form)


def load(text: str, source: FileSource | None) -> Any:
    """The value of a text made by `dump` or `dump_local`; its files read through ``source``."""
    if '"$' not in text:  # no file and no escaped key: the usual case, decoded without a hook
        return json.loads(text)

    def decode(read: dict[str, Any]) -> Any:
        if _FILE_KEY in read:
            return _file(read[_FILE_KEY], source)
        return {k[1:] if _ESCAPED_FILE_KEY.fullmatch(k) else k: v for k, v in read.items()}

    return json.loads(text, object_hook=decode)


def identify(name: str, *parts: object) -> tuple[str, str]:
    """The fingerprint of a call and its arguments, equal for equal calls in every process; and the
    first `SUMMARY_CHARS_MAX` characters of the JSON text that it was made of, by which people can
    tell two calls apart.

    A file counts by its id and revision only, so a blob that was moved is still the same file.
    Raises like `dump`, except for the size.
    """
    text = _encode([name, *parts], lambda file: {"id": file.id, "revision": file.revision})
    return hashlib.sha256(text.encode()).hexdigest()[:32], text[:SUMMARY_CHARS_MAX]


def function_ref(fn: Callable[..., object]) -> str:
    """The import name ``module:qualname`` of a module-level function.

    Raises `TypeError` with advice for what another process could not import.
    """
    elsewhere: str | None = getattr(fn, _ELSEWHERE, None)
    if elsewhere is not None:
        return elsewhere
    label = getattr(fn, "__qualname__", None) or repr(fn)
    advice = "make it a module-level function, so that a worker process can import it"
    if label.endswith("<lambda>"):
        raise TypeError(f"a lambda cannot be recorded; {advice}")
    if "<locals>" in label:
        raise TypeError(f"{label} is defined inside another function; {advice}")
    if inspect.ismethod(fn):
        raise TypeError(f"{label} is a bound method; wrap it: {advice}")
    module = getattr(fn, "__module__", None)
    if not module or not hasattr(fn, "__qualname__"):
        raise TypeError(f"{label} has no import name; {advice}")
    if module == "__main__":
        return _main_ref(label)
    ref = f"{module}:{label}"
    try:
        resolved = resolve(ref)
    except MissingFunction as error:
        raise TypeError(f"{error}; {advice}") from error
    if resolved is not fn:
        raise TypeError(f"{ref} names another object (a decorated one?); pass that one")
    return ref


def resolve(ref: str) -> Callable[..., Any]:
    """Import the function named ``module:qualname``; raises `MissingFunction`.

    Whatever the module raises while it is imported counts as missing too.
    """
    module, _, qualname = ref.partition(":")
    try:
        value: Any = importlib.import_module(module)
        for name in qualname.split("."):
            value = getattr(value, name)
    except Exception as error:
        raise MissingFunction(f"{ref} cannot be imported: {error}") from error
    if not callable(value):
        raise MissingFunction(f"{ref} is not a function")
    return value  # type: ignore[no-any-return]


def describe_error(error: BaseException) -> dict[str, str]:
    """``{"type": "module:qualname", "text": …}``; the text is storable and bounded."""
    kind = type(error)
    # KeyError's str() is the repr of its key: taking the argument keeps the text the same however
    # often the error is described and rebuilt.
    if len(error.args) == 1 and isinstance(error.args[0], str):
        text = error.args[0]
    else:
        try:
            text = str(error)
        except Exception:
            text = f"{kind.__qualname__} (its text could not be made)"
    text = UNSTORABLE.sub("\ufffd", text[:ERROR_TEXT_CHARS_MAX])
    return {"type": f"{kind.__module__}:{kind.__qualname__}", "text": text}


def describe_failure(error: BaseException) -> dict[str, Any]:
    """What another process is told of an exception: `describe_error`, the names of its classes, and
    the end of its traceback."""
    trace = "".join(traceback.format_exception(error))[-_TRACE_CHARS_MAX:]
    return {"error": describe_error(error), "kinds": class_names(error), "trace": trace}


def rebuild_error(description: Mapping[str, str]) -> Exception:
    """The exception of a `describe_error` answer, to be raised again.

    Its own class, or the nearest of its bases, that is an importable `Exception` made from one text
    (a `JSONDecodeError` wants more and comes back as a `ValueError`); else `StepFailed`.
    """
    text = description["text"]
    try:
        kind = resolve(description["type"])
    except Exception:  # not importable
        return StepFailed(text)
    for base in kind.__mro__ if isinstance(kind, type) else ():
        # Raised through a coroutine, these two would turn into a RuntimeError. What is no exception
        # is never made: the name may come from a process that reads a hostile file.
        if base is Exception or issubclass(base, StopIteration | StopAsyncIteration):
            break
        if not issubclass(base, Exception):
            continue
        with contextlib.suppress(Exception):  # its constructor wants something else
            error = base(text)
            if type(error) is base:
                return error
    return StepFailed(text)


def elsewhere(fn: _F, ref: str) -> _F:
    """``fn`` as the stand-in for the function of that import name, which another process has: it is
    recorded under that name, and this process does not import it."""
    fn.__module__, _, fn.__qualname__ = ref.partition(":")
    setattr(fn, _ELSEWHERE, ref)
    return fn


def stand_in_error(description: Mapping[str, str]) -> Exception:
    """Like `rebuild_error`, without importing an author's module: an error of one is of a class
    with the same name, made here."""
    module = description["type"].partition(":")[0]
    if module == "builtins" or module.startswith("agentpost."):
        return rebuild_error(description)
    return exception_class(description["type"], StepFailed)(description["text"])


def exception_class(name: str, base: type[Exception] = Exception) -> type[Exception]:
    """A class of that name, ``module:qualname``: classes of the author's are told by their
    names."""
    module, _, qualname = name.partition(":")
    kind = type(qualname.rpartition(".")[2], (base,), {"__module__": module})
    kind.__qualname__ = qualname
    return kind


def known_error(description: Mapping[str, str]) -> Exception:
    """Like `rebuild_error`, without importing anything for it: an error of a module that this
    process has not imported is of a class with the same name, made here."""
    module, _, _ = description["type"].partition(":")
    return rebuild_error(description) if module in sys.modules else stand_in_error(description)


def class_names(error: BaseException) -> list[str]:
    """``module:qualname`` of the exception's class and of its bases, the nearest first.

    For one that came from a worker process they are those it had there: its own class may not be
    the one that could be rebuilt.
    """
    names: list[str] = getattr(error, _CLASS_NAMES, [])
    return names or [f"{kind.__module__}:{kind.__qualname__}" for kind in type(error).__mro__]


def remember_class_names(error: BaseException, names: list[str]) -> None:
    """Let `class_names` answer these."""
    setattr(error, _CLASS_NAMES, names)


def _encode(value: object, file_form: _FileForm) -> str:
    return _CANONICAL.encode(_plain(value, None, 0, file_form))


def _plain(value: object, where: _Where, depth: int, file_form: _FileForm) -> Any:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, str):
        return _check(value, where)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise ValueError(f"{value} at {_spell(where)} has no form in JSON")
    if depth >= VALUE_DEPTH_MAX:
        raise ValueError(
            f"the value is nested over {VALUE_DEPTH_MAX} levels deep, or contains itself, "
            f"at {_spell(where)}"
        )
    if isinstance(value, File):
        return {_FILE_KEY: _plain(file_form(value), where, depth, file_form)}
    if isinstance(value, list | tuple):
        return [_plain(v, (where, n), depth + 1, file_form) for n, v in enumerate(value)]
    if isinstance(value, dict):
        return {
            _key(k, where): _plain(v, (where, str(k)), depth + 1, file_form)
            for k, v in value.items()
        }
    raise TypeError(_refusal(value, where))


def _key(key: object, where: _Where) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} at {_spell(where)} is not a string")
    _check(key, where)
    return f"${key}" if _OWN_FILE_KEY.fullmatch(key) else key


def _check(text: str, where: _Where) -> str:
    if "\0" in text:
        raise ValueError(f"the text at {_spell(where)} contains U+0000")
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError(f"the text at {_spell(where)} contains a lone surrogate")
    return text


def _refusal(value: object, where: _Where) -> str:
    kind = type(value)
    problem = f"{kind.__qualname__} at {_spell(where)} is not JSON"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{problem}; bytes go through write"
    if isinstance(value, set | frozenset):
        return f"{problem}; make it a sorted list"
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return f"{problem}; call its tolist()"
    return f"{problem}; use None, bool, int, float, str, list, dict or File"


def _spell(where: _Where) -> str:
    steps: list[str] = []
    while where is not None:
        where, step = where
        if isinstance(step, int):
            steps.append(f"[{step}]")
        else:
            steps.append(f".{step}" if step.isidentifier() else f"[{step!r}]")
    return "$" + "".join(reversed(steps))


def _recorded_form(file: File) -> dict[str, Any]:
    return {name: getattr(file, name) for name in _FILE_FIELDS}


def _local_form(file: File) -> dict[str, Any]:
    path = file.local_path
    return {**_recorded_form(file), "local_path": None if path is None else str(path)}


def _file(read: dict[str, Any], source: FileSource | None) -> File:
    path = read.get("local_path")
    return File(
        **{name: read[name] for name in _FILE_FIELDS if name in read},
        source=source,
        local_path=None if path is None else Path(path),
    )


def _main_ref(qualname: str) -> str:
    name = _main_module()
    if name is None:
        raise TypeError(
            f"{qualname} belongs to the program that was started and cannot be imported from "
            "elsewhere; move it to a module of its own"
        )
    return f"{name}:{qualname}"


def _main_module() -> str | None:
    main = sys.modules["__main__"]
    if main.__spec__ is not None:  # started with python -m
        return main.__spec__.name
    file = getattr(main, "__file__", None)
    if file is None:
        return None
    name = Path(file).stem
    try:
        module_spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    origin = None if module_spec is None else module_spec.origin
    if origin is None or not Path(origin).exists() or not Path(origin).samefile(file):
        return None
    return name
