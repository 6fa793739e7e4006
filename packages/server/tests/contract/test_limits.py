"""The numbers that clients rely on, line by line (spec: Limits; Webhook events 6, 7, 8).

Some are fixed, some are an operator's to change; then the ones we ship are the contract's.
"""

import pytest

from agentpost.domain import limits
from agentpost.settings import load_settings

MIB, HOUR, DAY = 2**20, 3_600, 86_400

FIXED = {
    "MESSAGE_CHARACTERS_MAX": 20_000,
    "INLINE_FILES_MAX": 5,
    "INLINE_FILE_BYTES_MAX": 10 * MIB,
    "INLINE_TOTAL_BYTES_MAX": 25 * MIB,
    "UPLOADS_PER_MESSAGE_MAX": 10,
    "UPLOADS_TOTAL_BYTES_MAX": 1_024 * MIB,
    "UPLOAD_BYTES_MAX": 500 * MIB,
    "IDEMPOTENCY_KEY_CHARACTERS_MAX": 128,
    "WAIT_SECONDS_MAX": 45,
    "EVENTS_WAIT_SECONDS_MIN": 1,
    "WORK_LIST_DEFAULT": 20,
    "WORK_LIST_MAX": 50,
    "WORK_FILES_MAX": 8,
    "PROBLEMS_MAX": 10,
    "AGENT_BUSY_RETRY_SECONDS": 15,
    "ACCOUNT_LIMIT_RETRY_SECONDS": 60,
    "WEBHOOK_ENDPOINTS_MAX": 10,
    "WEBHOOK_URL_CHARACTERS_MAX": 2_000,
    "WEBHOOK_DESCRIPTION_CHARACTERS_MAX": 120,
    "WEBHOOK_RECENT_DELIVERIES": 20,
}
SHIPPED = {
    "requests_per_minute": 600,
    "messages_per_hour": 120,
    "messages_per_day": 1_000,
    "waits_per_hour": 1_500,
    "work_reads_per_hour": 600,
    "running_jobs_max": 5,
    "turn_reply_seconds": 30,
    "upload_post_seconds": 15 * 60,
    "upload_keep_seconds": DAY,
    "queue_wait_seconds": DAY,
    "watch_seconds": 7 * DAY,
    "message_retention_seconds": 14 * DAY,
    "entry_retention_seconds": 7 * DAY,
    "idempotency_seconds": 7 * DAY,
    "request_log_seconds": 30 * DAY,
    "webhook_timeout_seconds": 10,
    "webhook_retry_seconds": [60, 300, 1_800, 2 * HOUR, 5 * HOUR, 10 * HOUR, DAY],
    "webhook_disable_seconds": 3 * DAY,
    "key_prefix": "svc_key_",
}


@pytest.mark.rule(
    "Limits message-text",
    "Limits inline-files",
    "Limits uploads-per-message",
    "Limits upload-size",
    "Limits wait",
    "Limits limit",
    "Limits work-files",
    "Limits idempotency-key",
    "Limits endpoints",
    "Limits recent-deliveries",
    "Limits Retry-After",
)
def test_promises_to_clients() -> None:
    assert {name: getattr(limits, name) for name in FIXED} == FIXED


@pytest.mark.rule(
    "Limits upload-link",
    "Limits unattached-upload",
    "Limits requests",
    "Limits messages",
    "Limits waits",
    "Limits work-reads",
    "Limits running-jobs",
    "Limits idempotency-key",
    "Limits queue-wait",
    "Limits watch",
    "Limits retention",
    "Limits event-log",
    "Limits receiver-timeout",
    "Limits inspector",
)
def test_numbers_an_operator_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SHIPPED:
        monkeypatch.delenv(f"AGENTPOST_{name.upper()}", raising=False)
    settings = load_settings()
    assert {name: getattr(settings, name) for name in SHIPPED} == SHIPPED
