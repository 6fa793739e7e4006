"""Every table, declared once: migrations are checked against it, on both databases.

Plain column types that both drivers return alike: text, and integers for times (microseconds),
credits (millionths) and flags (0/1). Ids sort by time, so inserts land at the end of an index.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()


def _text(name: str, *, null: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null)


def _time(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _id() -> Column[str]:
    return Column("id", Text, primary_key=True)


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


meta = Table("meta", metadata, Column("name", Text, primary_key=True), _text("value"))

nodes = Table("nodes", metadata, _id(), _time("started_at"), _time("beat"))

accounts = Table(
    "accounts",
    metadata,
    _id(),
    Column("email", Text, nullable=False, unique=True),
    _text("name"),
    _text("plan"),
    _time("balance"),
    _time("held"),
    _count("hosting_fees_due"),
    _text("limits_json"),
    _time("created_at"),
)

account_storage = Table(
    "account_storage",
    metadata,
    Column("account_id", Text, primary_key=True),
    _time("bytes"),
)

keys = Table(
    "keys",
    metadata,
    _id(),
    Column("account_id", Text, nullable=False, index=True),
    _text("name"),
    Column("digest", Text, nullable=False, unique=True),
    _text("hint"),
    _time("created_at"),
    _time("expires_at", null=True),
    _time("revoked_at", null=True),
    _time("last_used_at", null=True),
)

login_tokens = Table(
    "login_tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    _text("account_id"),
    _time("expires_at"),
    Index("ix_login_tokens_expires", "expires_at"),
    Index("ix_login_tokens_account", "account_id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    _text("account_id"),
    _time("created_at"),
    _time("expires_at"),
    Column("last_used_at", BigInteger, nullable=False, server_default="0"),
    _text("browser", null=True),
    Index("ix_sessions_expires", "expires_at"),
    Index("ix_sessions_account", "account_id", "created_at"),
)

conversations = Table(
    "conversations",
    metadata,
    _id(),
    _text("account_id"),
    _text("owner"),
    _text("name"),
    _text("home_work_id", null=True),
    _text("state_json"),
    _count("turns"),
    _count("works"),
    _text("turn_message_id", null=True),
    _time("created_at"),
    UniqueConstraint("owner", "name", name="uq_conversations_owner_name"),
)

messages = Table(
    "messages",
    metadata,
    _id(),
    _text("account_id"),
    _text("key_id"),
    _text("conversation_id"),
    _text("text"),
    _text("metadata_json", null=True),
    _text("traceparent", null=True),
    _text("webhook_endpoint_id", null=True),
    _text("idempotency_key", null=True),
    _text("fingerprint"),
    _count("attachments"),
    _text("notes_json"),
    _text("turn_state"),
    Column("turn_no", Integer, nullable=True),
    _text("turn_node", null=True),
    _count("turn_epoch"),
    _time("turn_began_at", null=True),
    _text("turn_inputs_json", null=True),
    _time("turn_wait_deadline"),
    _time("reply_deadline"),
    _text("asked", null=True),
    _text("reply", null=True),
    _text("status"),
    _text("reason", null=True),
    _text("question", null=True),
    _count("final"),
    _count("jobs"),
    _count("reply_files"),
    _count("seq"),
    _count("version"),
    _count("state_version"),
    _time("created_at"),
    _time("updated_at"),
    _time("expires_at"),
    Index("ix_messages_account", "account_id", "id"),
    Index("ix_messages_conversation", "conversation_id", "turn_no"),
    _partial(
        "uq_messages_idempotency",
        "key_id",
        "idempotency_key",
        where="idempotency_key IS NOT NULL",
        unique=True,
    ),
    # One for each state: SQLite takes a partial index only for the very condition it was made with.
    _partial(
        "ix_messages_waiting",
        "conversation_id",
        "turn_wait_deadline",
        "id",
        where="turn_state = 'waiting'",
    ),
    _partial("ix_messages_running", "turn_began_at", "id", where="turn_state = 'running'"),
    _partial("ix_messages_busy", "turn_wait_deadline", where="turn_state = 'waiting'"),
    # Without jobs a message's retention follows from its id.
    _partial("ix_messages_expiring", "expires_at", "id", where="jobs > 0"),
)

message_jobs = Table(
    "message_jobs",
    metadata,
    _text("message_id"),
    _text("job_id"),
    _text("role"),
    _time("joined_at"),
    PrimaryKeyConstraint("message_id", "job_id"),
    Index("ix_message_jobs_job", "job_id"),
    sqlite_with_rowid=False,
)

jobs = Table(
    "jobs",
    metadata,
    _id(),
    _text("account_id"),
    _text("conversation_id"),
    _text("message_id"),
    _text("work_id"),
    _text("kind"),
    _text("title"),
    _text("state"),
    _text("reason", null=True),
    _text("fn"),
    _text("args_json"),
    _text("question", null=True),
    _text("result", null=True),
    _text("step", null=True),
    _text("running_json", null=True),
    _text("node", null=True),
    _count("epoch"),
    _count("calls"),
    _count("calls_at_takeover"),
    _count("takeovers"),
    _count("recover_requests"),
    _time("credits_used"),
    _time("credits_needed"),
    _time("created_at"),
    _time("started_at", null=True),
    _time("settled_at", null=True),
    _time("queue_by", null=True),
    _time("watch_by", null=True),
    Index("ix_jobs_work", "work_id"),
    _partial("ix_jobs_running", "conversation_id", "id", where="state = 'running'"),
    _partial(
        "ix_jobs_settled",
        "conversation_id",
        "settled_at",
        where="state IN ('completed', 'failed')",
    ),
    _partial(
        "ix_jobs_executing",
        "account_id",
        "id",
        where="state IN ('running', 'overdue')",
    ),
    _partial("ix_jobs_queued", "account_id", "created_at", where="state = 'queued'"),
    _partial("ix_jobs_unowned", "id", where="state IN ('running', 'overdue') AND node IS NULL"),
    _partial("ix_jobs_watch_due", "watch_by", where="state = 'running'"),
    _partial("ix_jobs_queue_due", "queue_by", where="state = 'queued'"),
)

calls = Table(
    "calls",
    metadata,
    _text("owner"),
    _count("n"),
    _text("fingerprint"),
    _text("state"),
    _text("value"),
    _time("at"),
    _text("summary", null=True),
    PrimaryKeyConstraint("owner", "n"),
    sqlite_with_rowid=False,
)

signals = Table(
    "signals",
    metadata,
    _text("owner"),
    _text("id"),
    _time("at"),
    _text("name"),
    _text("body_json"),
    PrimaryKeyConstraint("owner", "id"),
    sqlite_with_rowid=False,
)

inbox = Table(
    "inbox",
    metadata,
    _text("job_id"),
    _count("n"),
    _text("message_id"),
    _text("text"),
    _time("at"),
    PrimaryKeyConstraint("job_id", "n"),
    sqlite_with_rowid=False,
)

entries = Table(
    "entries",
    metadata,
    _text("message_id"),
    _count("seq"),
    _text("type"),
    _time("at"),
    _text("work_id", null=True),
    _text("job_id", null=True),
    _text("body_json"),
    PrimaryKeyConstraint("message_id", "seq"),
    sqlite_with_rowid=False,
)

works = Table(
    "works",
    metadata,
    _id(),
    _text("account_id"),
    _text("conversation_id"),
    _text("title"),
    _text("text"),
    _text("question", null=True),
    _text("state_json"),
    _count("home"),
    _time("created_at"),
    _time("updated_at"),
    _time("deleted_at", null=True),
    Index("ix_works_account", "account_id", "id"),
    Index("ix_works_conversation", "conversation_id", "id"),
    _partial("ix_works_deleted", "id", where="deleted_at IS NOT NULL"),
)

files = Table(
    "files",
    metadata,
    Column("blob", Text, primary_key=True),
    _text("work_id"),
    _text("path"),
    _text("account_id"),
    _text("message_id", null=True),
    _text("job_id", null=True),
    _text("name"),
    _text("content_type"),
    _text("kind"),
    _time("size"),
    _text("revision"),
    _text("label", null=True),
    _time("created_at"),
    _count("replaced"),
    _partial("uq_files_current", "work_id", "path", where="replaced = 0", unique=True),
    Index("ix_files_work", "work_id", "path", "replaced"),
    Index("ix_files_job", "job_id"),
    Index("ix_files_message", "message_id"),
)

attachments = Table(
    "attachments",
    metadata,
    _text("message_id"),
    _count("n"),
    _text("name"),
    _text("url", null=True),
    _text("content_type", null=True),
    _text("kind"),
    _time("size"),
    _text("revision"),
    _text("blob", null=True),
    PrimaryKeyConstraint("message_id", "n"),
)

pending_deletions = Table(
    "pending_deletions",
    metadata,
    Column("blob", Text, primary_key=True),
    _time("due_at"),
    _count("tries"),
    Index("ix_pending_deletions_due", "due_at"),
)

uploads = Table(
    "uploads",
    metadata,
    _id(),
    Column("account_id", Text, nullable=False, index=True),
    _text("status"),
    _text("filename"),
    _text("content_type"),
    _time("size"),
    _text("blob"),
    _text("message_id", null=True),
    _time("created_at"),
    _time("post_by"),
    _time("keep_by"),
    Column("copies", Integer, nullable=False, server_default="0"),
    Column("swept", Integer, nullable=False, server_default="0"),
    _text("kind", null=True),
    _text("revision", null=True),
    _text("sniffed_type", null=True),
    _partial("ix_uploads_due", "keep_by", where="swept = 0"),
    _partial("ix_uploads_message", "message_id", where="message_id IS NOT NULL"),
    _partial("ix_uploads_pending", "account_id", "size", where="status = 'pending'"),
)

ledger = Table(
    "ledger",
    metadata,
    _id(),
    _text("account_id"),
    _text("kind"),
    _time("amount"),
    _text("job_id", null=True),
    Column("call_n", Integer, nullable=True),
    _text("note"),
    _time("at"),
    Index("ix_ledger_account", "account_id", "id"),
    _partial("ix_ledger_job", "job_id", where="job_id IS NOT NULL"),
)

endpoints = Table(
    "endpoints",
    metadata,
    _id(),
    Column("account_id", Text, nullable=False, index=True),
    _text("url"),
    _text("events_json"),
    _text("description", null=True),
    _text("secret"),
    _text("old_secret", null=True),
    _time("old_secret_until", null=True),
    _time("created_at"),
    _time("disabled_at", null=True),
    _text("disabled_reason", null=True),
    _time("failing_since", null=True),
    _partial("ix_endpoints_failing", "failing_since", where="disabled_at IS NULL"),
)

events = Table(
    "events",
    metadata,
    _id(),
    _text("account_id"),
    Column("message_id", Text, nullable=True, index=True),
    _text("job_id", null=True),
    _text("name"),
    _text("data_json"),
    _time("at"),
)

deliveries = Table(
    "deliveries",
    metadata,
    _text("event_id"),
    _text("endpoint_id"),
    _text("status"),
    _count("attempts"),
    Column("last_status_code", Integer, nullable=True),
    _text("last_error", null=True),
    _text("last_response", null=True),
    Column("last_ms", Integer, nullable=True),
    _time("created_at"),
    _time("delivered_at", null=True),
    _time("next_attempt_at", null=True),
    _time("claimed_until", null=True),
    Column("attempts_made", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint("event_id", "endpoint_id"),
    Index("ix_deliveries_endpoint", "endpoint_id", "event_id"),
    # By endpoint first: the backlog of one is never read on the way to another's.
    _partial("ix_deliveries_due", "endpoint_id", "next_attempt_at", where="status = 'pending'"),
)

attempts = Table(
    "attempts",
    metadata,
    _text("event_id"),
    _text("endpoint_id"),
    _count("n"),
    _time("at"),
    Column("status_code", Integer, nullable=True),
    _text("error", null=True),
    _text("response"),
    _count("ms"),
    PrimaryKeyConstraint("event_id", "endpoint_id", "n"),
    sqlite_with_rowid=False,
)

mails = Table(
    "mails",
    metadata,
    _id(),
    Column("account_id", Text, nullable=False, index=True),
    _text("recipient"),
    _text("subject"),
    _text("text"),
    _time("created_at"),
    _count("attempts"),
    _text("last_error", null=True),
    _time("sent_at", null=True),
    _time("next_attempt_at", null=True),
    _partial("ix_mails_due", "next_attempt_at", where="sent_at IS NULL"),
)

requests = Table(
    "requests",
    metadata,
    _id(),
    _time("at"),
    _text("account_id", null=True),
    _text("key_id", null=True),
    _text("method"),
    _text("path"),
    _count("status"),
    _text("error", null=True),
    _count("ms"),
    _time("request_bytes"),
    _time("response_bytes"),
    _text("request_body", null=True),
    _text("response_body", null=True),
    _text("traceparent", null=True),
    Index("ix_requests_account", "account_id", "id"),
)

request_log_days = Table(
    "request_log_days",
    metadata,
    _text("account_id"),  # empty: nobody we know
    _count("day"),
    _time("bytes"),
    _time("dropped"),
    PrimaryKeyConstraint("account_id", "day"),
    Index("ix_request_log_days_day", "day"),
    sqlite_with_rowid=False,
)

reader_locks = Table(
    "reader_locks", metadata, Column("subject", Text, primary_key=True), _count("owner")
)
