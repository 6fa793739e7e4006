"""Every table, declared once: migrations are checked against it, on both databases.

A table of records has the columns of its class in `domain.records`. Column types are plain, so both
drivers return them alike. Ids sort by time, so inserts land at the end of an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from agentpost.domain import records, user_records, webhook_records
from agentpost.domain.schedules import ScheduleRecord

metadata = MetaData()


def _text(name: str, *, null: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null)


def _time(name: str, *, null: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=null)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _id(name: str = "id") -> Column[str]:
    return Column(name, Text, primary_key=True)


def _columns(
    record: type[Any], *, key: str = "id", zero: tuple[str, ...] = ()
) -> Iterator[Column[Any]]:
    """A column for each field; one that may be None may be NULL.

    Args:
        key: the primary key, "" when it has several columns.
        zero: columns that were added later, with 0 in the rows that there were.
    """
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        hint = hints[field.name]
        null = NoneType in get_args(hint)
        hint = get_args(hint)[0] if null else hint
        kinds = {int: Integer, bytes: LargeBinary}
        kind = BigInteger if get_origin(hint) is Annotated else kinds.get(hint, Text)
        default = "0" if field.name in zero else None
        is_key = field.name == key
        yield Column(field.name, kind, primary_key=is_key, nullable=null, server_default=default)


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


meta = Table("meta", metadata, Column("name", Text, primary_key=True), _text("value"))

nodes = Table("nodes", metadata, *_columns(records.NodeRecord))
schema_support = Table("schema_support", metadata, _id("serves_from"))
accounts = Table("accounts", metadata, *_columns(records.AccountRecord), UniqueConstraint("email"))

account_storage = Table(
    "account_storage", metadata, Column("account_id", Text, primary_key=True), _time("bytes")
)

keys = Table(
    "keys",
    metadata,
    *_columns(records.KeyRecord),
    Index("ix_keys_account_id", "account_id"),
    UniqueConstraint("digest"),
)

login_tokens = Table(
    "login_tokens",
    metadata,
    *_columns(user_records.LoginTokenRecord, key="digest"),
    Index("ix_login_tokens_expires", "expires_at"),
    Index("ix_login_tokens_account", "account_id"),
)

sessions = Table(
    "sessions",
    metadata,
    *_columns(user_records.SessionRecord, key="digest", zero=("last_used_at",)),
    Index("ix_sessions_expires", "expires_at"),
    Index("ix_sessions_account", "account_id", "created_at"),
    Index("ix_sessions_user", "user_id", "created_at"),
)

users = Table(
    "users",
    metadata,
    *_columns(user_records.UserRecord),
    UniqueConstraint("email", name="uq_users_email"),
    Index("ix_users_account", "account_id", "id"),
    Index("ix_users_subject", "oidc_subject", unique=True),
)

user_mails = Table("user_mails", metadata, *_columns(user_records.UserMailRecord))

conversations = Table(
    "conversations",
    metadata,
    *_columns(records.ConversationRecord),
    UniqueConstraint("owner", "name", name="uq_conversations_owner_name"),
)

messages = Table(
    "messages",
    metadata,
    *_columns(records.MessageRecord),
    Index("ix_messages_account", "account_id", "id"),
    Index("ix_messages_conversation", "conversation_id", "turn_no"),
    Index("ix_messages_key", "key_id", "id"),
    Index("ix_messages_of_conversation", "conversation_id", "id"),
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
    *_columns(records.JobRecord),
    Index("ix_jobs_work", "work_id"),
    _partial("ix_jobs_running", "conversation_id", "id", where="state = 'running'"),
    _partial(
        "ix_jobs_settled", "conversation_id", "settled_at", where="state IN ('completed', 'failed')"
    ),
    _partial("ix_jobs_executing", "account_id", "id", where="state IN ('running', 'overdue')"),
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

agent_lines = Table(
    "agent_lines",
    metadata,
    *map(_text, ("owner", "id", "level", "line")),
    _time("at"),
    Column("call", Integer, nullable=True),
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
    *_columns(records.EntryRecord, key=""),
    PrimaryKeyConstraint("message_id", "seq"),
    sqlite_with_rowid=False,
)

works = Table(
    "works",
    metadata,
    *_columns(records.WorkRecord),
    Index("ix_works_account", "account_id", "id"),
    Index("ix_works_conversation", "conversation_id", "id"),
    _partial("ix_works_deleted", "id", where="deleted_at IS NOT NULL"),
)

files = Table(
    "files",
    metadata,
    *_columns(records.FileRecord, key="blob"),
    _partial("uq_files_current", "work_id", "path", where="replaced = 0", unique=True),
    Index("ix_files_work", "work_id", "path", "replaced"),
    Index("ix_files_job", "job_id"),
    Index("ix_files_message", "message_id"),
)

attachments = Table(
    "attachments",
    metadata,
    *_columns(records.AttachmentRecord, key=""),
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
    *_columns(records.UploadRecord, zero=("copies", "swept")),
    Index("ix_uploads_account_id", "account_id"),
    _partial("ix_uploads_due", "keep_by", where="swept = 0"),
    _partial("ix_uploads_message", "message_id", where="message_id IS NOT NULL"),
    _partial("ix_uploads_pending", "account_id", "size", where="status = 'pending'"),
)

ledger = Table(
    "ledger",
    metadata,
    *_columns(records.LedgerRecord),
    Index("ix_ledger_account", "account_id", "id"),
    _partial("ix_ledger_job", "job_id", where="job_id IS NOT NULL"),
    _partial("ix_ledger_key", "key_id", "id", where="kind = 'charge' AND key_id IS NOT NULL"),
)

endpoints = Table(
    "endpoints",
    metadata,
    *_columns(webhook_records.EndpointRecord),
    Index("ix_endpoints_account_id", "account_id"),
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

event_readers = Table(
    "event_readers", metadata, _id("account_id"), _time("kept_until"), _count("last_n")
)

event_numbers = Table(
    "event_numbers",
    metadata,
    Column("event_id", Text, primary_key=True),
    _text("account_id"),
    Column("n", Integer, nullable=True),
    Index("ix_event_numbers_account", "account_id", "n"),
    _partial("ix_event_numbers_new", "account_id", "event_id", where="n IS NULL"),
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
    *_columns(webhook_records.AttemptRecord, key=""),
    PrimaryKeyConstraint("event_id", "endpoint_id", "n"),
    sqlite_with_rowid=False,
)

schedules = Table(
    "schedules",
    metadata,
    *_columns(ScheduleRecord),
    Index("ix_schedules_account", "account_id"),
    Index("ix_schedules_key", "key_id", "id"),
    _partial("ix_schedules_due", "next_at", where="next_at IS NOT NULL"),
)

mails = Table(
    "mails",
    metadata,
    *_columns(records.MailRecord),
    Index("ix_mails_account_id", "account_id"),
    _partial("ix_mails_due", "next_attempt_at", where="sent_at IS NULL"),
)

requests = Table(
    "requests",
    metadata,
    *_columns(records.RequestRecord),
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

operator_actions = Table("operator_actions", metadata, *_columns(records.OperatorActionRecord))

reader_locks = Table(
    "reader_locks", metadata, Column("subject", Text, primary_key=True), _count("owner")
)
