"""What a server and its agent process say to each other.

A frame is a length (4 bytes, big-endian) and that many bytes of JSON, over a pair of sockets that
nobody else has. "Values" below are texts made by `agents.values`.

The server says first ``{"path", "spec", "folder", "memory_bytes", "cpu_seconds", "stall_seconds",
"log_level"}``; the process answers ``{"ready": true}``, or ``{"unknown": text}`` and ends. Then:

===============================  ================================================================
From the server
===============================  ================================================================
``run``, ``turn`` or ``job``     run that turn or job under the number ``run``
``run``, ``cancel``              end it, with that argument; answered by ``cancelled`` at once
``run``, ``id``, ``value``       what a call returned, as values
``run``, ``id``, ``error``       what it raised
``run``, ``id``, ``stopped``     the run is over
``run``, ``id``, ``body``        run the body of that step; the value is the step's key; ``try``
                                 is the number of the try, from 1
``run``, ``id``, ``give_up``     the time of that try is over: end its body, and wait for what is
                                 next
===============================  ================================================================

===============================  ================================================================
From the process
===============================  ================================================================
``run``, ``id``, ``op``, …       a call, numbered in the order of these frames; ``in`` is the step
                                 whose body makes it
``run``, ``go``                  the call of that id is awaited now: make it
``run``, ``drop``                nobody awaits it any more
``run``, ``id``, ``done``        what came of a body, in that ``try``
``run``, ``delta``, ``reset``    a piece of text to show
``run``, ``output``              the output of a turn, as JSON
``run``, ``end``                 the function has returned or raised
``beat``                         every second while something runs: CPU time and memory used
``stalled``, ``run``, ``stack``  the loop is held for too long, by that run if it is known
``died``, ``run``                the process cannot go on and ends
``log``                          a line for the server's log
===============================  ================================================================
"""

from __future__ import annotations

import traceback
from typing import Any, Final, TypeAlias

from agentpost.agents import values
from agentpost.runtime.causes import cause_of

Frame: TypeAlias = dict[str, Any]
_TRACE_CHARACTERS_MAX: Final = 20_000
"""The longest traceback that is sent along with an error; its end is what is kept."""


def failure(error: BaseException) -> Frame:
    """An exception as data: what is recorded of it, the names of its classes, where it was
    raised, and the line for the operator."""
    trace = "".join(traceback.format_exception(error))[-_TRACE_CHARACTERS_MAX:]
    described = values.describe_error(error)
    kinds = values.class_names(error)
    return {"error": described, "kinds": kinds, "trace": trace, "cause": cause_of(error)}
