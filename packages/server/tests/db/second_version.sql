-- What a later version could add (CONTRIBUTING: A migration). No code uses it.
CREATE TABLE made_up (
  id TEXT NOT NULL PRIMARY KEY,
  job_id TEXT NOT NULL,
  bytes BLOB
) WITHOUT ROWID;
CREATE INDEX ix_made_up_job ON made_up (job_id);
ALTER TABLE messages ADD COLUMN made_up TEXT;
ALTER TABLE jobs ADD COLUMN made_up INTEGER NOT NULL DEFAULT 1;
CREATE UNIQUE INDEX uq_messages_made_up ON messages (made_up);
CREATE INDEX ix_jobs_made_up ON jobs (made_up, id) WHERE state = 'running';
