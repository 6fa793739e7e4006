"""What a program of a model can and cannot do."""

import pytest

from agentpost.agents.llm import sandbox


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print(files['a.txt'].upper())", "TEXT\n"),
        ("import json, re, math, datetime\njson.dumps([1, 2])", "'[1, 2]'"),
        ("x = 1", ""),
        ("print('a' + chr(0))", "a\ufffd\n"),
    ],
)
def test_it_computes(code: str, said: str) -> None:
    assert sandbox.interpret(code, {"a.txt": "text"}) == {"said": said, "files": {}}


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("open('/etc/passwd').read()", "Permission denied"),
        ("import pathlib\npathlib.Path('/etc').iterdir()", "Permission denied"),
        ("open('/tmp/x', 'w').write('x')", "Permission denied"),
        ("import os\nos.environ['HOME']", "not supported"),
        ("import os\nos.system('true')", "AttributeError"),
        ("import socket", "No module named 'socket'"),
        ("import subprocess", "No module named 'subprocess'"),
        ("__import__('os')", "NameError"),
        ("().__class__.__base__.__subclasses__()", "AttributeError"),
        ("write_file.__globals__", "AttributeError"),
        ("while True: pass", "time limit exceeded"),
        ("'a' * 10**10", "memory limit exceeded"),
        ("print('a' * 10**6)", "MemoryError"),
        ("def f(): return f()\nf()", "RecursionError"),
        ("def (", "Expected"),
        ("write_file('a', 1)", "both strings"),
        ("for n in range(200): write_file(str(n), 'x')", "100 files"),
        ("write_file('a', 'x' * 10**6)", "300000 characters"),
        ("write_file('a', chr(0))", "no U+0000"),
        ("write_file('a', chr(0x1F600) * 290_000)", "900,000 bytes"),
        ("write_file('a', 'x')\n1 / 0", "line 2"),
    ],
)
def test_it_reaches_nothing(code: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And writes nothing when it fails."""
    monkeypatch.setitem(sandbox._LIMITS, "max_feed_duration_secs", 0.2)
    done = sandbox.interpret(code, {})
    assert error in done["said"]
    assert done["files"] == {}
