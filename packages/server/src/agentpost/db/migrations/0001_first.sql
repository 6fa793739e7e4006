-- The first schema. A table of records has the columns of its class in agentpost/domain/records.py
-- and the modules beside it. Times are microseconds since 1970. Ids sort by time: inserts land at
-- the end of an index.

CREATE TABLE meta (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE nodes (
  id TEXT NOT NULL PRIMARY KEY,
  started_at BIGINT NOT NULL,
  beat BIGINT NOT NULL,
  beat_at BIGINT NOT NULL,
  draining_at BIGINT,
  host TEXT,
  pid INTEGER,
  role TEXT,
  version TEXT,
  held_calls INTEGER,
  clock_ahead BIGINT
);

CREATE TABLE accounts (
  id TEXT NOT NULL PRIMARY KEY,
  email TEXT NOT NULL,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  held BIGINT NOT NULL,
  hosting_fees_due INTEGER NOT NULL,
  limits_json TEXT NOT NULL,
  disabled_at BIGINT,
  deleted_at BIGINT,
  UNIQUE (email)
);

CREATE TABLE account_storage (
  account_id TEXT NOT NULL PRIMARY KEY,
  bytes BIGINT NOT NULL
);

CREATE TABLE keys (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  digest TEXT NOT NULL,
  hint TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  last_used_at BIGINT,
  scopes TEXT,
  max_credits_per_day BIGINT,
  networks TEXT,
  old_digest TEXT,
  old_hint TEXT,
  old_until BIGINT,
  UNIQUE (digest)
);
CREATE INDEX ix_keys_account_id ON keys (account_id);
CREATE UNIQUE INDEX uq_keys_old_digest ON keys (old_digest);

CREATE TABLE login_tokens (
  digest TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  purpose TEXT,
  oidc_subject TEXT
);
CREATE INDEX ix_login_tokens_account ON login_tokens (account_id);
CREATE INDEX ix_login_tokens_expires ON login_tokens (expires_at);

CREATE TABLE sessions (
  digest TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  last_used_at BIGINT NOT NULL,
  browser TEXT,
  user_id TEXT NOT NULL,
  address TEXT
);
CREATE INDEX ix_sessions_account ON sessions (account_id, created_at);
CREATE INDEX ix_sessions_address ON sessions (address);
CREATE INDEX ix_sessions_expires ON sessions (expires_at);
CREATE INDEX ix_sessions_user ON sessions (user_id, created_at);

CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  email TEXT NOT NULL,
  role TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  password TEXT,
  oidc_subject TEXT,
  last_login_at BIGINT,
  invited_by TEXT,
  invited_email TEXT,
  CONSTRAINT uq_users_email UNIQUE (email)
);
CREATE INDEX ix_users_account ON users (account_id, id);
CREATE INDEX ix_users_invited ON users (invited_email);
CREATE UNIQUE INDEX ix_users_subject ON users (oidc_subject);

CREATE TABLE user_mails (
  id TEXT NOT NULL PRIMARY KEY,
  email TEXT NOT NULL,
  purpose TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  next_attempt_at BIGINT NOT NULL,
  attempts INTEGER NOT NULL
);

CREATE TABLE conversations (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  home_work_id TEXT,
  state_json TEXT NOT NULL,
  turns INTEGER NOT NULL,
  works INTEGER NOT NULL,
  turn_message_id TEXT,
  asking_message_id TEXT,
  CONSTRAINT uq_conversations_owner_name UNIQUE (owner, name)
);

CREATE TABLE messages (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  conversation TEXT,
  text TEXT NOT NULL,
  metadata_json TEXT,
  traceparent TEXT,
  webhook_endpoint_id TEXT,
  idempotency_key TEXT,
  fingerprint TEXT NOT NULL,
  attachments INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  notes_json TEXT NOT NULL,
  turn_wait_deadline BIGINT NOT NULL,
  reply_deadline BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  turn_state TEXT NOT NULL,
  turn_no INTEGER,
  turn_node TEXT,
  turn_epoch INTEGER NOT NULL,
  turn_began_at BIGINT,
  turn_inputs_json TEXT,
  asked TEXT,
  reply TEXT,
  status TEXT NOT NULL,
  reason TEXT,
  question TEXT,
  final INTEGER NOT NULL,
  jobs INTEGER NOT NULL,
  reply_files INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  version INTEGER NOT NULL,
  state_version INTEGER NOT NULL,
  queue_patience BIGINT,
  max_credits BIGINT,
  response_schema_json TEXT,
  answer_json TEXT,
  answer_format_json TEXT,
  output_json TEXT,
  answered_by TEXT,
  user_id TEXT,
  turn_deaths INTEGER NOT NULL,
  turn_retried_at BIGINT
);
CREATE INDEX ix_messages_account ON messages (account_id, id);
-- One for each state: SQLite takes a partial index only for the very condition it was made with.
CREATE INDEX ix_messages_busy ON messages (turn_wait_deadline) WHERE turn_state = 'waiting';
CREATE INDEX ix_messages_conversation ON messages (conversation_id, turn_no);
-- Without jobs a message's retention follows from its id.
CREATE INDEX ix_messages_expiring ON messages (expires_at, id) WHERE jobs > 0;
CREATE INDEX ix_messages_key ON messages (key_id, id);
CREATE INDEX ix_messages_of_conversation ON messages (conversation_id, id);
CREATE INDEX ix_messages_running ON messages (turn_began_at, id) WHERE turn_state = 'running';
CREATE INDEX ix_messages_waiting ON messages (conversation_id, turn_wait_deadline, id)
  WHERE turn_state = 'waiting';
CREATE UNIQUE INDEX uq_messages_idempotency ON messages (key_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE message_jobs (
  message_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  role TEXT NOT NULL,
  joined_at BIGINT NOT NULL,
  PRIMARY KEY (message_id, job_id)
) WITHOUT ROWID;
CREATE INDEX ix_message_jobs_job ON message_jobs (job_id);

CREATE TABLE jobs (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  work_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  fn TEXT NOT NULL,
  args_json TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  running_json TEXT,
  state TEXT NOT NULL,
  reason TEXT,
  question TEXT,
  result TEXT,
  step TEXT,
  node TEXT,
  epoch INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  calls_at_takeover INTEGER NOT NULL,
  takeovers INTEGER NOT NULL,
  recover_requests INTEGER NOT NULL,
  credits_used BIGINT NOT NULL,
  credits_needed BIGINT NOT NULL,
  started_at BIGINT,
  settled_at BIGINT,
  queue_by BIGINT,
  watch_by BIGINT,
  ceiling TEXT,
  waits_until BIGINT,
  answer_format_json TEXT,
  output_json TEXT,
  diverged_at BIGINT,
  divergence TEXT
);
CREATE INDEX ix_jobs_executing ON jobs (account_id, id) WHERE state IN ('running', 'overdue');
CREATE INDEX ix_jobs_queue_due ON jobs (queue_by) WHERE state = 'queued';
CREATE INDEX ix_jobs_queued ON jobs (account_id, created_at) WHERE state = 'queued';
CREATE INDEX ix_jobs_running ON jobs (conversation_id, id) WHERE state = 'running';
CREATE INDEX ix_jobs_settled ON jobs (conversation_id, settled_at)
  WHERE state IN ('completed', 'failed');
CREATE INDEX ix_jobs_unowned ON jobs (id) WHERE state IN ('running', 'overdue') AND node IS NULL;
CREATE INDEX ix_jobs_watch_due ON jobs (watch_by) WHERE state = 'running';
CREATE INDEX ix_jobs_work ON jobs (work_id);

CREATE TABLE calls (
  owner TEXT NOT NULL,
  n INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  state TEXT NOT NULL,
  value TEXT NOT NULL,
  at BIGINT NOT NULL,
  summary TEXT,
  PRIMARY KEY (owner, n)
) WITHOUT ROWID;

CREATE TABLE signals (
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  name TEXT NOT NULL,
  body_json TEXT NOT NULL,
  PRIMARY KEY (owner, id)
) WITHOUT ROWID;

CREATE TABLE agent_lines (
  owner TEXT NOT NULL,
  id TEXT NOT NULL,
  level TEXT NOT NULL,
  line TEXT NOT NULL,
  at BIGINT NOT NULL,
  call INTEGER,
  PRIMARY KEY (owner, id)
) WITHOUT ROWID;

CREATE TABLE inbox (
  job_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  text TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (job_id, n)
) WITHOUT ROWID;

CREATE TABLE entries (
  message_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  at BIGINT NOT NULL,
  body_json TEXT NOT NULL,
  work_id TEXT,
  job_id TEXT,
  PRIMARY KEY (message_id, seq)
) WITHOUT ROWID;

CREATE TABLE works (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  title TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  text TEXT NOT NULL,
  question TEXT,
  state_json TEXT NOT NULL,
  home INTEGER NOT NULL,
  deleted_at BIGINT
);
CREATE INDEX ix_works_account ON works (account_id, id);
CREATE INDEX ix_works_conversation ON works (conversation_id, id);
CREATE INDEX ix_works_deleted ON works (id) WHERE deleted_at IS NOT NULL;

CREATE TABLE files (
  work_id TEXT NOT NULL,
  path TEXT NOT NULL,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  content_type TEXT NOT NULL,
  kind TEXT NOT NULL,
  size BIGINT NOT NULL,
  revision TEXT NOT NULL,
  blob TEXT NOT NULL PRIMARY KEY,
  created_at BIGINT NOT NULL,
  message_id TEXT,
  job_id TEXT,
  label TEXT,
  replaced INTEGER NOT NULL
);
CREATE INDEX ix_files_job ON files (job_id);
CREATE INDEX ix_files_message ON files (message_id);
CREATE INDEX ix_files_work ON files (work_id, path, replaced);
CREATE UNIQUE INDEX uq_files_current ON files (work_id, path) WHERE replaced = 0;

CREATE TABLE attachments (
  message_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  name TEXT NOT NULL,
  url TEXT,
  content_type TEXT,
  kind TEXT NOT NULL,
  size BIGINT NOT NULL,
  revision TEXT NOT NULL,
  blob TEXT,
  PRIMARY KEY (message_id, n)
);

CREATE TABLE pending_deletions (
  blob TEXT NOT NULL PRIMARY KEY,
  due_at BIGINT NOT NULL,
  tries INTEGER NOT NULL
);
CREATE INDEX ix_pending_deletions_due ON pending_deletions (due_at);

CREATE TABLE uploads (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  filename TEXT NOT NULL,
  content_type TEXT NOT NULL,
  size BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  post_by BIGINT NOT NULL,
  keep_by BIGINT NOT NULL,
  status TEXT NOT NULL,
  blob TEXT NOT NULL,
  message_id TEXT,
  copies INTEGER NOT NULL,
  swept INTEGER NOT NULL,
  kind TEXT,
  revision TEXT,
  sniffed_type TEXT
);
CREATE INDEX ix_uploads_account_id ON uploads (account_id);
CREATE INDEX ix_uploads_due ON uploads (keep_by) WHERE swept = 0;
CREATE INDEX ix_uploads_message ON uploads (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX ix_uploads_pending ON uploads (account_id, size) WHERE status = 'pending';

CREATE TABLE ledger (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  amount BIGINT NOT NULL,
  at BIGINT NOT NULL,
  job_id TEXT,
  call_n INTEGER,
  note TEXT NOT NULL,
  key_id TEXT
);
CREATE INDEX ix_ledger_account ON ledger (account_id, id);
CREATE INDEX ix_ledger_job ON ledger (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX ix_ledger_key ON ledger (key_id, id) WHERE kind = 'charge' AND key_id IS NOT NULL;

CREATE TABLE endpoints (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  url TEXT NOT NULL,
  events_json TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  description TEXT,
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_secret_until BIGINT,
  disabled_at BIGINT,
  disabled_reason TEXT,
  failing_since BIGINT
);
CREATE INDEX ix_endpoints_account_id ON endpoints (account_id);
CREATE INDEX ix_endpoints_failing ON endpoints (failing_since) WHERE disabled_at IS NULL;

CREATE TABLE events (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  message_id TEXT,
  job_id TEXT,
  name TEXT NOT NULL,
  data_json TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX ix_events_message_id ON events (message_id);

CREATE TABLE event_readers (
  account_id TEXT NOT NULL PRIMARY KEY,
  kept_until BIGINT NOT NULL,
  last_n INTEGER NOT NULL
);

CREATE TABLE event_numbers (
  event_id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  n INTEGER
);
CREATE INDEX ix_event_numbers_account ON event_numbers (account_id, n);
CREATE INDEX ix_event_numbers_new ON event_numbers (account_id, event_id) WHERE n IS NULL;

CREATE TABLE deliveries (
  event_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  last_status_code INTEGER,
  last_error TEXT,
  last_response TEXT,
  last_ms INTEGER,
  created_at BIGINT NOT NULL,
  delivered_at BIGINT,
  next_attempt_at BIGINT,
  claimed_until BIGINT,
  attempts_made INTEGER NOT NULL,
  PRIMARY KEY (event_id, endpoint_id)
);
-- By endpoint first: the backlog of one is never read on the way to another's.
CREATE INDEX ix_deliveries_due ON deliveries (endpoint_id, next_attempt_at)
  WHERE status = 'pending';
CREATE INDEX ix_deliveries_endpoint ON deliveries (endpoint_id, event_id);

CREATE TABLE attempts (
  event_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  at BIGINT NOT NULL,
  status_code INTEGER,
  error TEXT,
  response TEXT NOT NULL,
  ms INTEGER NOT NULL,
  headers TEXT,
  body_sha256 TEXT,
  links_until BIGINT,
  PRIMARY KEY (event_id, endpoint_id, n)
) WITHOUT ROWID;

CREATE TABLE schedules (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  cron TEXT,
  timezone TEXT NOT NULL,
  missed TEXT NOT NULL,
  message_json TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  status TEXT NOT NULL,
  next_at BIGINT,
  missed_runs INTEGER NOT NULL,
  last_planned_at BIGINT,
  last_at BIGINT,
  last_outcome TEXT,
  last_message_id TEXT,
  last_error TEXT
);
CREATE INDEX ix_schedules_account ON schedules (account_id);
CREATE INDEX ix_schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX ix_schedules_key ON schedules (key_id, id);

CREATE TABLE mails (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  attempts INTEGER NOT NULL,
  last_error TEXT,
  sent_at BIGINT,
  next_attempt_at BIGINT
);
CREATE INDEX ix_mails_account_id ON mails (account_id);
CREATE INDEX ix_mails_due ON mails (next_attempt_at) WHERE sent_at IS NULL;

CREATE TABLE requests (
  id TEXT NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  account_id TEXT,
  key_id TEXT,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  status INTEGER NOT NULL,
  error TEXT,
  ms INTEGER NOT NULL,
  request_bytes BIGINT NOT NULL,
  response_bytes BIGINT NOT NULL,
  request_body TEXT,
  response_body TEXT,
  traceparent TEXT,
  message_id TEXT
);
CREATE INDEX ix_requests_account ON requests (account_id, id);
CREATE INDEX ix_requests_message ON requests (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE operator_actions (
  id TEXT NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  who TEXT NOT NULL,
  via TEXT NOT NULL,
  origin TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  detail_json TEXT NOT NULL,
  outcome TEXT NOT NULL
);

CREATE TABLE reader_locks (
  subject TEXT NOT NULL PRIMARY KEY,
  owner INTEGER NOT NULL
);
