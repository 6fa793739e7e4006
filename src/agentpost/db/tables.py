"""Every table, declared once: migrations are checked against it, on both databases.

A table of records has the columns of its class in `domain.records`. Both drivers return the plain
types alike: text, bytes, integers of 32 or 64 bits. Ids sort by time: inserts land at the end of an
index.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from agentpost.db.columns import (
    columns_of,
    count_column,
    id_column,
    partial_index,
    text_column,
    time_column,
)
from agentpost.domain import node_records, records, user_records, webhook_records
from agentpost.domain.schedules import ScheduleRecord

metadata = MetaData()

meta = Table("meta", metadata, Column("name", Text, primary_key=True), text_column("value"))

nodes = Table("nodes", metadata, *columns_of(node_records.NodeRecord))
schema_support = Table("schema_support", metadata, id_column("serves_from"))
accounts = Table(
    "accounts", metadata, *columns_of(records.AccountRecord), UniqueConstraint("email")
)

account_storage = Table(
    "account_storage", metadata, Column("account_id", Text, primary_key=True), time_column("bytes")
)

keys = Table(
    "keys",
    metadata,
    *columns_of(records.KeyRecord),
    Index("ix_keys_account_id", "account_id"),
    UniqueConstraint("digest"),
    Index("uq_keys_old_digest", "old_digest", unique=True),
)

login_tokens = Table(
    "login_tokens",
    metadata,
    *columns_of(user_records.LoginTokenRecord, key="digest"),
    Index("ix_login_tokens_expires", "expires_at"),
    Index("ix_login_tokens_account", "account_id"),
)

sessions = Table(
    "sessions",
    metadata,
    *columns_of(user_records.SessionRecord, key="digest", zero=("last_used_at",)),
    Index("ix_sessions_expires", "expires_at"),
    Index("ix_sessions_account", "account_id", "created_at"),
    Index("ix_sessions_user", "user_id", "created_at"),
)

users = Table(
    "users",
    metadata,
    *columns_of(user_records.UserRecord),
    UniqueConstraint("email", name="uq_users_email"),
    Index("ix_users_account", "account_id", "id"),
    Index("ix_users_subject", "oidc_subject", unique=True),
    Index("ix_users_invited", "invited_email"),
)

user_mails = Table("user_mails", metadata, *columns_of(user_records.UserMailRecord))

conversations = Table(
    "conversations",
    metadata,
    *columns_of(records.ConversationRecord),
    UniqueConstraint("owner", "name", name="uq_conversations_owner_name"),
)

messages = Table(
    "messages",
    metadata,
    *columns_of(records.MessageRecord, zero=("turn_deaths",)),
    Index("ix_messages_account", "account_id", "id"),
    Index("ix_messages_conversation", "conversation_id", "turn_no"),
    Index("ix_messages_key", "key_id", "id"),
    Index("ix_messages_of_conversation", "conversation_id", "id"),
    partial_index(
        "uq_messages_idempotency",
        "key_id",
        "idempotency_key",
        where="idempotency_key IS NOT NULL",
        unique=True,
    ),
    # One for each state: SQLite takes a partial index only for the very condition it was made with.
    partial_index(
        "ix_messages_waiting",
        "conversation_id",
        "turn_wait_deadline",
        "id",
        where="turn_state = 'waiting'",
    ),
    partial_index("ix_messages_running", "turn_began_at", "id", where="turn_state = 'running'"),
    partial_index("ix_messages_busy", "turn_wait_deadline", where="turn_state = 'waiting'"),
    # Without jobs a message's retention follows from its id.
    partial_index("ix_messages_expiring", "expires_at", "id", where="jobs > 0"),
)

message_jobs = Table(
    "message_jobs",
    metadata,
    text_column("message_id"),
    text_column("job_id"),
    text_column("role"),
    time_column("joined_at"),
    PrimaryKeyConstraint("message_id", "job_id"),
    Index("ix_message_jobs_job", "job_id"),
    sqlite_with_rowid=False,
)

jobs = Table(
    "jobs",
    metadata,
    *columns_of(records.JobRecord),
    Index("ix_jobs_work", "work_id"),
    partial_index("ix_jobs_running", "conversation_id", "id", where="state = 'running'"),
    partial_index(
        "ix_jobs_settled", "conversation_id", "settled_at", where="state IN ('completed', 'failed')"
    ),
    partial_index("ix_jobs_executing", "account_id", "id", where="state IN ('running', 'overdue')"),
    partial_index("ix_jobs_queued", "account_id", "created_at", where="state = 'queued'"),
    partial_index(
        "ix_jobs_unowned", "id", where="state IN ('running', 'overdue') AND node IS NULL"
    ),
    partial_index("ix_jobs_watch_due", "watch_by", where="state = 'running'"),
    partial_index("ix_jobs_queue_due", "queue_by", where="state = 'queued'"),
)

calls = Table(
    "calls",
    metadata,
    text_column("owner"),
    count_column("n"),
    text_column("fingerprint"),
    text_column("state"),
    text_column("value"),
    time_column("at"),
    text_column("summary", null=True),
    PrimaryKeyConstraint("owner", "n"),
    sqlite_with_rowid=False,
)

signals = Table(
    "signals",
    metadata,
    text_column("owner"),
    text_column("id"),
    time_column("at"),
    text_column("name"),
    text_column("body_json"),
    PrimaryKeyConstraint("owner", "id"),
    sqlite_with_rowid=False,
)

agent_lines = Table(
    "agent_lines",
    metadata,
    *map(text_column, ("owner", "id", "level", "line")),
    time_column("at"),
    Column("call", Integer, nullable=True),
    PrimaryKeyConstraint("owner", "id"),
    sqlite_with_rowid=False,
)

inbox = Table(
    "inbox",
    metadata,
    text_column("job_id"),
    count_column("n"),
    text_column("message_id"),
    text_column("text"),
    time_column("at"),
    PrimaryKeyConstraint("job_id", "n"),
    sqlite_with_rowid=False,
)

entries = Table(
    "entries",
    metadata,
    *columns_of(records.EntryRecord, key=""),
    PrimaryKeyConstraint("message_id", "seq"),
    sqlite_with_rowid=False,
)

works = Table(
    "works",
    metadata,
    *columns_of(records.WorkRecord),
    Index("ix_works_account", "account_id", "id"),
    Index("ix_works_conversation", "conversation_id", "id"),
    partial_index("ix_works_deleted", "id", where="deleted_at IS NOT NULL"),
)

files = Table(
    "files",
    metadata,
    *columns_of(records.FileRecord, key="blob"),
    partial_index("uq_files_current", "work_id", "path", where="replaced = 0", unique=True),
    Index("ix_files_work", "work_id", "path", "replaced"),
    Index("ix_files_job", "job_id"),
    Index("ix_files_message", "message_id"),
)

attachments = Table(
    "attachments",
    metadata,
    *columns_of(records.AttachmentRecord, key=""),
    PrimaryKeyConstraint("message_id", "n"),
)

pending_deletions = Table(
    "pending_deletions",
    metadata,
    Column("blob", Text, primary_key=True),
    time_column("due_at"),
    count_column("tries"),
    Index("ix_pending_deletions_due", "due_at"),
)

uploads = Table(
    "uploads",
    metadata,
    *columns_of(records.UploadRecord, zero=("copies", "swept")),
    Index("ix_uploads_account_id", "account_id"),
    partial_index("ix_uploads_due", "keep_by", where="swept = 0"),
    partial_index("ix_uploads_message", "message_id", where="message_id IS NOT NULL"),
    partial_index("ix_uploads_pending", "account_id", "size", where="status = 'pending'"),
)

ledger = Table(
    "ledger",
    metadata,
    *columns_of(records.LedgerRecord),
    Index("ix_ledger_account", "account_id", "id"),
    partial_index("ix_ledger_job", "job_id", where="job_id IS NOT NULL"),
    partial_index("ix_ledger_key", "key_id", "id", where="kind = 'charge' AND key_id IS NOT NULL"),
)

endpoints = Table(
    "endpoints",
    metadata,
    *columns_of(webhook_records.EndpointRecord),
    Index("ix_endpoints_account_id", "account_id"),
    partial_index("ix_endpoints_failing", "failing_since", where="disabled_at IS NULL"),
)

events = Table(
    "events",
    metadata,
    id_column(),
    text_column("account_id"),
    Column("message_id", Text, nullable=True, index=True),
    text_column("job_id", null=True),
    text_column("name"),
    text_column("data_json"),
    time_column("at"),
)

event_readers = Table(
    "event_readers",
    metadata,
    id_column("account_id"),
    time_column("kept_until"),
    count_column("last_n"),
)

event_numbers = Table(
    "event_numbers",
    metadata,
    Column("event_id", Text, primary_key=True),
    text_column("account_id"),
    Column("n", Integer, nullable=True),
    Index("ix_event_numbers_account", "account_id", "n"),
    partial_index("ix_event_numbers_new", "account_id", "event_id", where="n IS NULL"),
)

deliveries = Table(
    "deliveries",
    metadata,
    text_column("event_id"),
    text_column("endpoint_id"),
    text_column("status"),
    count_column("attempts"),
    Column("last_status_code", Integer, nullable=True),
    text_column("last_error", null=True),
    text_column("last_response", null=True),
    Column("last_ms", Integer, nullable=True),
    time_column("created_at"),
    time_column("delivered_at", null=True),
    time_column("next_attempt_at", null=True),
    time_column("claimed_until", null=True),
    Column("attempts_made", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint("event_id", "endpoint_id"),
    Index("ix_deliveries_endpoint", "endpoint_id", "event_id"),
    # By endpoint first: the backlog of one is never read on the way to another's.
    partial_index(
        "ix_deliveries_due", "endpoint_id", "next_attempt_at", where="status = 'pending'"
    ),
)

attempts = Table(
    "attempts",
    metadata,
    *columns_of(webhook_records.AttemptRecord, key=""),
    PrimaryKeyConstraint("event_id", "endpoint_id", "n"),
    sqlite_with_rowid=False,
)

schedules = Table(
    "schedules",
    metadata,
    *columns_of(ScheduleRecord),
    Index("ix_schedules_account", "account_id"),
    Index("ix_schedules_key", "key_id", "id"),
    partial_index("ix_schedules_due", "next_at", where="next_at IS NOT NULL"),
)

mails = Table(
    "mails",
    metadata,
    *columns_of(records.MailRecord),
    Index("ix_mails_account_id", "account_id"),
    partial_index("ix_mails_due", "next_attempt_at", where="sent_at IS NULL"),
)

requests = Table(
    "requests",
    metadata,
    *columns_of(records.RequestRecord),
    Index("ix_requests_account", "account_id", "id"),
    partial_index("ix_requests_message", "message_id", where="message_id IS NOT NULL"),
)

request_log_days = Table(
    "request_log_days",
    metadata,
    text_column("account_id"),  # empty: nobody we know
    count_column("day"),
    time_column("bytes"),
    time_column("dropped"),
    PrimaryKeyConstraint("account_id", "day"),
    Index("ix_request_log_days_day", "day"),
    sqlite_with_rowid=False,
)

operator_actions = Table("operator_actions", metadata, *columns_of(records.OperatorActionRecord))

reader_locks = Table(
    "reader_locks", metadata, Column("subject", Text, primary_key=True), count_column("owner")
)
