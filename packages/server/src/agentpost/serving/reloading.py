"""SIGHUP: take changed settings of a running server up (docs/deploying.md)."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import structlog
from pydantic import ValidationError

from agentpost.observability import logging
from agentpost.server import Server
from agentpost.serving.checks import problems
from agentpost.settings import Settings, load_settings

log = structlog.get_logger(__name__)
TAKEN_UP: Final = frozenset(
    {
        *("log_level", "drain_seconds", "step_grace_seconds", "conversation_required"),
        *("running_jobs_max", "requests_per_minute", "messages_per_hour", "messages_per_day"),
        *("waits_per_hour", "work_reads_per_hour", "streams_max", "schedules_max"),
        *("stored_bytes_max", "upload_pending_bytes_max", "free_space_min_bytes"),
        *("turn_reply_seconds", "turn_limit_seconds", "busy_wait_seconds", "queue_wait_seconds"),
        *("watch_seconds", "code_changed_wait_seconds"),
        *("door_wait_seconds", "body_idle_seconds", "fetch_seconds"),
        *("message_retention_seconds", "entry_retention_seconds", "idempotency_seconds"),
        *("request_log_seconds", "operator_log_seconds", "session_idle_seconds"),
        *("upload_post_seconds", "upload_keep_seconds"),
        *("webhook_retry_seconds", "webhook_disable_seconds"),
    }
)
"""Settings that are read whenever they are needed. All others are read at the start."""


def reload(server: Server, options: Mapping[str, Any]) -> None:
    """Read the settings again and take up those that can change; a file that cannot be used changes
    nothing. ``options``: those of the command line. Does not raise."""
    before = server.ctx.settings
    try:
        read = load_settings(**options)
        faults = list(problems(read))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)
        faults = [f"{'_'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong]
    except (ValueError, OSError) as error:
        faults = [str(error)]
    if faults:
        log.error("settings_not_reloaded", problems=faults)
        return
    if read.port == 0:
        read = read.model_copy(update={"port": before.port})
    changes = [n for n in Settings.model_fields if getattr(read, n) != getattr(before, n)]
    applicable = {name: getattr(read, name) for name in changes if name in TAKEN_UP}
    server.ctx.settings = before.model_copy(update=applicable)
    if "log_level" in applicable:
        logging.set_level(read.log_level)
    log.info("settings_reloaded", changed=applicable)
    rest = [name for name in changes if name not in TAKEN_UP]
    if rest:
        log.warning("settings_need_restart", settings=rest)


def hangs_up_with_terminal() -> bool:
    """Whether SIGHUP says that the terminal of this process was closed: it has one, and nobody had
    the signal ignored (nohup)."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        return False
    with suppress(OSError):
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        return True
    return False
