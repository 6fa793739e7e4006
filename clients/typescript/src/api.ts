// Made by docs/client_typescript.py from docs/openapi.json.


/** The account of the key, and what is left of its credits. */
export interface Account {
  agent: Agent;
  /** Available credits. */
  credits: number;
  email: string;
  key: Key;
  limits: Limits;
  name: string;
  object: "account";
  plan: "self_hosted";
  user_id: string;
}

/** An event as a reader of the account's events gets it: the body of a webhook, and its id. */
export interface AccountEvent {
  /** `evt_<id>`; webhooks have it as `webhook-id`. */
  id: string;
  data: unknown;
  /** Only in a sample that was asked for: nothing in it exists. */
  test?: boolean;
  /** When it happened. */
  timestamp: string;
  /** The name of the event. */
  type: string;
}

/** A page of an account's events, oldest first. */
export interface AccountEventList {
  cursor: string;
  cursor_expired?: boolean;
  data: AccountEvent[];
  /** More events are ready. */
  has_more: boolean;
  object: "list";
}

/** The agent that answers. */
export interface Agent {
  name: string;
}

/** An answer is one of `choices`, or JSON that fits `schema`. */
export interface AnswerFormat {
  choices?: string[];
  /** A JSON Schema (2020-12). */
  schema?: Record<string, unknown>;
}

/** One HTTP request of a delivery. */
export interface Attempt {
  /** When it ended. */
  at: string;
  /** Why it failed; null when the receiver took it. */
  error: string | null;
  /** How long it took. */
  ms: number;
  /** The beginning of the receiver's answer. */
  response: string;
  /** null when no answer came. */
  status_code: number | null;
}

/** A removed endpoint. */
export interface DeletedEndpoint {
  id: string;
  /** Always true. */
  deleted: boolean;
  object: "webhook_endpoint";
}

/** A removed schedule. */
export interface DeletedSchedule {
  id: string;
  /** Always true. */
  deleted: boolean;
  object: "schedule";
}

/** One event for one endpoint. */
export interface Delivery {
  /** `evt_<id>`, the same for all endpoints and every attempt. */
  id: string;
  attempts: number;
  created_at: string;
  delivered_at: string | null;
  event: string;
  last_error: string | null;
  /** How long the last attempt took. */
  last_ms: number | null;
  /** The beginning of the receiver's answer. */
  last_response: string | null;
  last_status_code: number | null;
  /** null for a test event. */
  message_id: string | null;
  next_attempt_at: string | null;
  object: "webhook_delivery";
  status: "cancelled" | "delivered" | "dropped" | "failed" | "pending";
}

/** A page of deliveries, newest first; continue with `before` = the last `id`. */
export interface DeliveryList {
  data: LoggedDelivery[];
  has_more: boolean;
  object: "list";
}

/** A webhook endpoint. */
export interface Endpoint {
  id: string;
  created_at: string;
  description: string | null;
  disabled_at: string | null;
  disabled_reason: "failing" | "manual" | null;
  events: string[];
  failing_since: string | null;
  object: "webhook_endpoint";
  url: string;
}

/** Only the fields to change. */
export interface EndpointChangeInput {
  /** A note of your own, up to 120 characters. */
  description?: string | null;
  /** `false` turns it off, `true` on again, its failures forgotten. */
  enabled?: boolean | null;
  /** Names of events, or ["*"] for all of them. */
  events?: Array<"*" | "message.completed" | "message.partial" | "message.failed" | "message.needs_input" | "message.blocked" | "message.expired" | "job.completed" | "job.failed" | "job.blocked" | "job.resumed" | "job.expired"> | null;
  /** Public https address on port 443 or 8443, up to 2,000 characters, without user name. */
  url?: string | null;
}

/** A new endpoint; without `events` it receives all of them. */
export interface EndpointInput {
  /** A note of your own, up to 120 characters. */
  description?: string | null;
  /** Names of events, or ["*"] for all of them. */
  events?: Array<"*" | "message.completed" | "message.partial" | "message.failed" | "message.needs_input" | "message.blocked" | "message.expired" | "job.completed" | "job.failed" | "job.blocked" | "job.resumed" | "job.expired"> | null;
  /** Public https address on port 443 or 8443, up to 2,000 characters, without user name. */
  url: string;
}

/** The account's endpoints, up to 10. */
export interface EndpointList {
  data: Endpoint[];
  object: "list";
}

/** An endpoint with its 20 newest deliveries. */
export interface EndpointWithDeliveries {
  id: string;
  created_at: string;
  description: string | null;
  disabled_at: string | null;
  disabled_reason: "failing" | "manual" | null;
  events: string[];
  failing_since: string | null;
  object: "webhook_endpoint";
  recent_deliveries: Delivery[];
  url: string;
}

/** A line of the log; which fields are there depends on `type`. */
export interface Entry {
  at: string;
  delivered_sync?: boolean;
  file_names?: string[];
  files?: OutputFile[];
  job_id?: string;
  message_id: string;
  outcome?: "completed" | "failed" | "stalled_credits";
  reason?: string;
  seq: number;
  state?: "expired" | "resumed" | "stopped" | "unknown";
  status?: "done" | "started";
  step?: string;
  text?: string;
  title?: string;
  type: "agent_reply" | "progress" | "result" | "state" | (string & {});
  work_id?: string;
}

/** Every error answer. Branch on `error`; `message` is for people and may change. */
export interface ErrorBody {
  /** Only with poll_in_progress: the cursor to continue from. */
  cursor?: string;
  /** Where this code is explained. */
  docs: string;
  error: string;
  message: string;
  /** Only with invalid_request: up to ten. */
  problems?: Problem[];
  request_id: string;
}

/** A page of the log, oldest first. */
export interface EventList {
  cursor: string;
  cursor_expired?: boolean;
  data: Entry[];
  /** The message has nothing more to report. */
  done: boolean;
  /** More entries are ready. */
  has_more: boolean;
  object: "list";
}

/** A file in the body of a message: by `url` or by `base64`. */
export interface InlineFileInput {
  /** The bytes, in standard base64. */
  base64?: string | null;
  /** MIME type. */
  content_type?: string | null;
  /** File name for the agent. */
  name?: string | null;
  /** Public https URL; the service fetches it. */
  url?: string | null;
}

/** A piece of work a message started, joined or had refused. */
export interface Job {
  files: OutputFile[];
  final: boolean;
  job_id: string;
  kind: "execution" | "refusal";
  link: string;
  /** Only in events. */
  message_id?: string;
  /** Only in events. */
  object?: "job";
  /** Only with `response_schema`: fits it; null until the job has completed. */
  output?: unknown;
  queued: boolean | null;
  reason: string | null;
  resume_by: string | null;
  role: "execution" | "follow_up";
  settled_at: string | null;
  started_at: string | null;
  status: "blocked" | "cancelled" | "completed" | "expired" | "failed" | "running";
  /** Its result, or why it failed; null until it has ended. */
  text: string | null;
  title: string;
  work_id: string;
}

/** A job, with the metadata of its message. */
export interface JobEventData {
  files: OutputFile[];
  final: boolean;
  job_id: string;
  kind: "execution" | "refusal";
  link: string;
  /** The message that started it. */
  message_id: string;
  /** Of that message. */
  metadata?: Record<string, string>;
  object: "job";
  /** Only with `response_schema`: fits it; null until the job has completed. */
  output?: unknown;
  queued: boolean | null;
  reason: string | null;
  resume_by: string | null;
  role: "execution" | "follow_up";
  settled_at: string | null;
  started_at: string | null;
  status: "blocked" | "cancelled" | "completed" | "expired" | "failed" | "running";
  /** Its result, or why it failed; null until it has ended. */
  text: string | null;
  title: string;
  /** Of that message. */
  traceparent?: string;
  work_id: string;
}

/** A job changed; sent once, for the message that started it. */
export interface JobWebhookEvent {
  data: JobEventData;
  /** Only in a sample that was asked for: nothing in it exists. */
  test?: boolean;
  /** When it happened. */
  timestamp: string;
  /** The name of the event. */
  type: "job.blocked" | "job.completed" | "job.expired" | "job.failed" | "job.resumed";
}

/** The key that called. */
export interface Key {
  id: string;
  /** What its work may use in a UTC day; null: no limit but the credits. */
  max_credits_per_day: number | null;
  name: string;
  /** What the key may do. */
  scopes: Array<"admin" | "read" | "read_all" | "send">;
}

/** How much this account can do at once. */
export interface Limits {
  requests_per_minute: number;
  running_jobs: number;
}

/** A delivery with its attempts. */
export interface LoggedDelivery {
  /** `evt_<id>`, the same for all endpoints and every attempt. */
  id: string;
  /**
   * The newest 25 attempts, oldest first; also those from before it was sent again, which
   * `attempts` does not count.
   */
  attempt_log: Attempt[];
  attempts: number;
  created_at: string;
  delivered_at: string | null;
  event: string;
  last_error: string | null;
  /** How long the last attempt took. */
  last_ms: number | null;
  /** The beginning of the receiver's answer. */
  last_response: string | null;
  last_status_code: number | null;
  /** null for a test event. */
  message_id: string | null;
  next_attempt_at: string | null;
  object: "webhook_delivery";
  status: "cancelled" | "delivered" | "dropped" | "failed" | "pending";
}

/** A request to the API, without its bodies. */
export interface LoggedRequest {
  /** `req_<id>`; its answer had it as `Request-Id`. */
  id: string;
  /** When it came. */
  created_at: string;
  /** The code of the error, null for a success. */
  error: string | null;
  key_id: string | null;
  /** null for a key that is not there. */
  key_name: string | null;
  method: string;
  /** How long it took. */
  ms: number;
  object: "request";
  /** With its query; what may be secret is left out. */
  path: string;
  /** The length of its body. */
  request_bytes: number;
  /** The length of the answer's body; 0 when streamed. */
  response_bytes: number;
  /** 499: the client hung up before the answer was ready. */
  status: number;
  /** The W3C trace context it came with. */
  traceparent: string | null;
}

/** A request to the API with its bodies. */
export interface LoggedRequestDetails {
  /** `req_<id>`; its answer had it as `Request-Id`. */
  id: string;
  /** When it came. */
  created_at: string;
  /** The code of the error, null for a success. */
  error: string | null;
  key_id: string | null;
  /** null for a key that is not there. */
  key_name: string | null;
  method: string;
  /** How long it took. */
  ms: number;
  object: "request";
  /** With its query; what may be secret is left out. */
  path: string;
  /** Without secrets, its first 32,768 characters; null when there was none or it is not kept. */
  request_body: string | null;
  /** The length of its body. */
  request_bytes: number;
  /** Without secrets, its first 32,768 characters; null when there was none or it is not kept. */
  response_body: string | null;
  /** The length of the answer's body; 0 when streamed. */
  response_bytes: number;
  /** 499: the client hung up before the answer was ready. */
  status: number;
  /** The W3C trace context it came with. */
  traceparent: string | null;
}

/** A page of requests: newest first, or with a `cursor` in the order in which they ended. */
export interface LoggedRequestList {
  /** Give it to wait for the requests that end from now on. */
  cursor: string;
  data: LoggedRequest[];
  has_more: boolean;
  object: "list";
}

/** A message with its reply, jobs and files. */
export interface Message {
  id: string;
  /** Only while the `question` asks for an answer of a kind. */
  answer_format?: AnswerFormat;
  /** The name that the request gave; null when it gave none. */
  conversation: string | null;
  created_at: string;
  credits_used: number;
  files: OutputFile[];
  /** Nothing about the message will change any more. */
  final: boolean;
  jobs: Job[];
  /** As given with the message or a recover. */
  max_credits?: number;
  metadata?: Record<string, string>;
  notes: string[];
  object: "message";
  /** Only with `response_schema`: fits it; null until it is there. */
  output?: unknown;
  question: string | null;
  /** Only while a message sent with `busy: queue` waits for its turn; 1: it is next. */
  queue_position?: number;
  reason: string | null;
  /** The first answer; the sentence of the result is the `text` of a job. */
  reply: string | null;
  resume?: "add_credits";
  resume_by?: string;
  retry_after_seconds?: number;
  running?: Running[];
  status: "blocked" | "completed" | "expired" | "failed" | "needs_input" | "partial" | "processing";
  /** The W3C trace context the message came with. */
  traceparent?: string;
  updated_at: string;
  /** Grows with every change; also the ETag. */
  version: number;
  /**
   * Instead of `resume`, when parked work may use no more credits: a recover with a higher
   * `max_credits` continues it, or the next day (UTC) of its key does.
   */
  waits_for?: "max_credits" | "next_day";
}

/** A deleted message. */
export interface MessageDeleted {
  id: string;
  /** Always true. */
  deleted: boolean;
  object: "message";
}

/** At least one of `message`, `files`, `upload_ids` and `answer` is needed. */
export interface MessageInput {
  /**
   * With `answer_to`: the answer, a choice as its text or JSON that fits the schema; `message` may
   * be left out then. Up to 20,000 characters as JSON.
   */
  answer?: unknown;
  /**
   * The message whose question this one answers; its conversation is that one's. A question is
   * answered once.
   */
  answer_to?: string | null;
  /**
   * While the conversation has another turn: `wait` for a while, then `agent_busy` (the default);
   * `fail` as `agent_busy` at once; `queue`: the call is answered at once with `queue_position`,
   * and the turn comes when the conversation is free.
   */
  busy?: "wait" | "fail" | "queue" | null;
  /** Names the conversation, e.g. your customer's id; each has its own past. */
  conversation?: string | null;
  /** Up to 5 are taken, 10 MB each, 25 MB together; the rest become notes. */
  files?: InlineFileInput[] | null;
  /** What the work that this message starts may use; then it is parked. */
  max_credits?: number | null;
  /** What to do, in plain language; up to 20,000 characters, trimmed. */
  message?: string | null;
  /** Up to 16 labels of your own, given back unchanged. */
  metadata?: Record<string, string> | null;
  /**
   * A JSON Schema of up to 16 KiB that the message's `output` has to fit: of draft 2020-12, or of
   * an earlier one that `$schema` names (06, 07, 2019-09), as far as it means the same. Its
   * references name parts of itself; a part may contain itself.
   */
  response_schema?: Record<string, unknown> | null;
  /** Finished uploads; up to 10, 1 GB together. */
  upload_ids?: string[] | null;
  /** The endpoint that alone receives this message's events. */
  webhook_endpoint_id?: string | null;
}

/** A message in a list, with what was sent. */
export interface MessageItem {
  id: string;
  /** Only while the `question` asks for an answer of a kind. */
  answer_format?: AnswerFormat;
  /** The name that the request gave; null when it gave none. */
  conversation: string | null;
  created_at: string;
  credits_used: number;
  files: OutputFile[];
  /** Nothing about the message will change any more. */
  final: boolean;
  jobs: Job[];
  /** As given with the message or a recover. */
  max_credits?: number;
  /** The text as it was sent. */
  message: string;
  metadata?: Record<string, string>;
  notes: string[];
  object: "message";
  /** Only with `response_schema`: fits it; null until it is there. */
  output?: unknown;
  question: string | null;
  /** Only while a message sent with `busy: queue` waits for its turn; 1: it is next. */
  queue_position?: number;
  reason: string | null;
  /** The first answer; the sentence of the result is the `text` of a job. */
  reply: string | null;
  resume?: "add_credits";
  resume_by?: string;
  retry_after_seconds?: number;
  running?: Running[];
  status: "blocked" | "completed" | "expired" | "failed" | "needs_input" | "partial" | "processing";
  /** The W3C trace context the message came with. */
  traceparent?: string;
  updated_at: string;
  /** Grows with every change; also the ETag. */
  version: number;
  /**
   * Instead of `resume`, when parked work may use no more credits: a recover with a higher
   * `max_credits` continues it, or the next day (UTC) of its key does.
   */
  waits_for?: "max_credits" | "next_day";
}

/** Messages of a key, newest first; continue with `before` = the last `id`. */
export interface MessageList {
  data: MessageItem[];
  has_more: boolean;
  /** Only when the page ended early: continue with `before` = this. */
  next_before?: string;
  object: "list";
}

/** A message has reached a status other than `processing`, or has become final. */
export interface MessageWebhookEvent {
  /** The message, as a read gives it. */
  data: Message;
  /** Only in a sample that was asked for: nothing in it exists. */
  test?: boolean;
  /** When it happened. */
  timestamp: string;
  /** The name of the event. */
  type: "message.blocked" | "message.completed" | "message.expired" | "message.failed" | "message.needs_input" | "message.partial";
}

/** An endpoint just made, with its secret: this is the only time it is shown. */
export interface NewEndpoint {
  id: string;
  created_at: string;
  description: string | null;
  disabled_at: string | null;
  disabled_reason: "failing" | "manual" | null;
  events: string[];
  failing_since: string | null;
  object: "webhook_endpoint";
  secret: string;
  url: string;
}

/** A file the agent made. */
export interface OutputFile {
  content_type: string;
  /** `<work_id>/<path>`; contains slashes. */
  file_id: string;
  kind: "archive" | "audio" | "data" | "deck" | "document" | "image" | "other" | "site" | "text" | "video";
  label: string | null;
  name: string;
  /** Quoted entity tag. */
  revision: string;
  /** Bytes. */
  size: number;
  /** Signed download link; expires; needs no API key. */
  url: string;
  work_id: string;
}

/** One file. */
export interface OutputFileObject {
  content_type: string;
  /** `<work_id>/<path>`; contains slashes. */
  file_id: string;
  kind: "archive" | "audio" | "data" | "deck" | "document" | "image" | "other" | "site" | "text" | "video";
  label: string | null;
  name: string;
  object: "file";
  /** Quoted entity tag. */
  revision: string;
  /** Bytes. */
  size: number;
  /** Signed download link; expires; needs no API key. */
  url: string;
  work_id: string;
}

/** One field of the request and what is wrong with it. */
export interface Problem {
  /** Dotted path such as files.0.url; null: the whole body. */
  field: string | null;
  problem: string;
}

/** A recover needs no body; this one may come with it. */
export interface RecoverInput {
  /** What the message's work may use from now on; parked work continues. */
  max_credits?: number | null;
}

/** A work of the message. */
export interface RecoveredWork {
  /**
   * recovering: watched again from now on; watching: was still watched; exhausted: cannot be
   * watched again; settled: ended, nothing to wait for.
   */
  state: "exhausted" | "recovering" | "settled" | "watching";
  work_id: string;
}

/** The answer to a recover call. */
export interface Recovery {
  /** The message's id. */
  id: string;
  object: "recovery";
  work: RecoveredWork[];
}

/** How many deliveries are sent again. */
export interface Replay {
  deliveries: number;
  object: "webhook_replay";
  webhook_endpoint_id: string;
}

/** The deliveries to retry. */
export interface ReplayInput {
  /** Beginning of the time range, ISO 8601 with offset. */
  since: string;
  /** Only deliveries that ended so; without it, all. */
  status?: Array<"delivered" | "failed" | "dropped"> | null;
  /** Its end, exclusive; without it, now. */
  until?: string | null;
}

/** Optional: how long the old secret stays valid. */
export interface RotateInput {
  /** For so long deliveries are signed with both secrets. */
  grace_seconds?: number | null;
}

/** The new secret: this is the only time it is shown. */
export interface RotatedSecret {
  id: string;
  object: "webhook_endpoint";
  /** Until then the old secret signs as well. */
  old_secret_until: string | null;
  secret: string;
}

/** The last run of a schedule. */
export interface Run {
  /** When it was sent, refused or found to be missed. */
  at: string;
  /** Why it was refused. */
  error: string | null;
  message_id: string | null;
  outcome: "missed" | "refused" | "sent";
  planned_at: string;
}

/** A job that held one of the slots when a start was refused. */
export interface Running {
  job_id: string;
  message_id: string;
  work_id: string;
}

/** A message that is sent at given times. */
export interface Schedule {
  id: string;
  created_at: string;
  cron: string | null;
  last_run: Run | null;
  /** The fields of the message, as given. */
  message: Record<string, unknown>;
  missed: "run_once" | "skip";
  /** How many runs were missed so far, and not made up for. */
  missed_runs: number;
  next_run_at: string | null;
  object: "schedule";
  status: "active" | "ended" | "paused";
  timezone: string;
}

/** A change of a schedule. */
export interface ScheduleChangeInput {
  /** While paused it does not run. */
  paused?: boolean | null;
}

/** Either `cron` or `at` is needed. */
export interface ScheduleInput {
  /** A time with its offset, for one run only. */
  at?: string | null;
  /** Five fields: minute, hour, day of month, month, day of week. */
  cron?: string | null;
  message: ScheduledMessageInput;
  /**
   * What becomes of runs that are over five minutes late because no server ran: `skip` (default)
   * or `run_once`, one run for all of them.
   */
  missed?: "skip" | "run_once" | null;
  /** IANA name of the time zone of `cron`; UTC by default. */
  timezone?: string | null;
}

/** A page of schedules, newest first; continue with `before` = the last `id`. */
export interface ScheduleList {
  data: Schedule[];
  has_more: boolean;
  object: "list";
}

/** A file by its address; the service fetches it for each message. */
export interface ScheduledFileInput {
  /** File name for the agent. */
  name?: string | null;
  /** Public https URL; the service fetches it. */
  url: string;
}

/**
 * The message that each run sends. Its fields are those of `POST /v1/messages`, but for what can
 * be sent once only: uploads, contents of files and answers.
 */
export interface ScheduledMessageInput {
  /** As for a message, but `queue` by default: nobody sends it again. */
  busy?: "wait" | "fail" | "queue" | null;
  conversation?: string | null;
  files?: ScheduledFileInput[] | null;
  max_credits?: number | null;
  /** What to do, in plain language; up to 20,000 characters, trimmed. */
  message: string;
  metadata?: Record<string, string> | null;
  /**
   * A JSON Schema of up to 16 KiB that the message's `output` has to fit: of draft 2020-12, or of
   * an earlier one that `$schema` names (06, 07, 2019-09), as far as it means the same. Its
   * references name parts of itself; a part may contain itself.
   */
  response_schema?: Record<string, unknown> | null;
  webhook_endpoint_id?: string | null;
}

/** The tested endpoint. */
export interface TestEventData {
  object: "webhook_test";
  webhook_endpoint_id: string;
}

/** Optional: what to send. */
export interface TestInput {
  /** A sample of this event is sent instead of `webhook.test`. */
  event?: "message.completed" | "message.partial" | "message.failed" | "message.needs_input" | "message.blocked" | "message.expired" | "job.completed" | "job.failed" | "job.blocked" | "job.resumed" | "job.expired" | null;
}

/** Sent on request, to see whether an endpoint works. */
export interface TestWebhookEvent {
  data: TestEventData;
  /** Only in a sample that was asked for: nothing in it exists. */
  test?: boolean;
  /** When it happened. */
  timestamp: string;
  /** The name of the event. */
  type: "webhook.test";
}

/** A finished upload: name its id in a message's `upload_ids`. */
export interface Upload {
  content_type: string;
  filename: string;
  object: "upload";
  /** Bytes that arrived. */
  size: number;
  status: "ready";
  upload_id: string;
}

/** Where to post the file, and with which form fields. */
export interface UploadCreated {
  /** Until then the form can be posted. */
  expires_at: string;
  /** Every one goes into the form, unchanged. */
  fields: Record<string, string>;
  /** What the agent will see: a plain name made of the one sent. */
  filename: string;
  /** The declared size; a larger file is refused. */
  max_bytes: number;
  object: "upload";
  upload_id: string;
  /** Post multipart/form-data here, the file last as `file`. */
  url: string;
}

/** A file to come. ``size`` has been looked at before: its refusals have other codes. */
export interface UploadInput {
  /** MIME type; guessed from the name when omitted or empty. */
  content_type?: string | null;
  /** The file's name. */
  filename: string;
  /** Exact bytes, up to 500 MB; the upload is capped at it. */
  size: number;
}

/** The use of a day, a key or a conversation. */
export interface Usage {
  /**
   * The day in UTC such as `2026-01-31`, the id of the key or of the conversation; `app` for
   * messages from the web app, `deleted` for credits whose message is deleted.
   */
  id: string;
  /** Credits charged in this time. */
  credits: number;
  group: "conversation" | "day" | "key";
  /** Jobs that these messages started; refused starts do not count. */
  jobs: number;
  messages: number;
  /**
   * The name of the key or conversation; null for a day, without one, and for the conversation of
   * another key unless the key has the scope `read_all`.
   */
  name: string | null;
  object: "usage";
}

/** A page of usage, by `id`, the greatest first; continue with `before` = the last `id`. */
export interface UsageList {
  data: Usage[];
  has_more: boolean;
  object: "list";
}

/** A work with one page of its text and its newest files. */
export interface Work {
  /** The newest, up to 8. */
  files: OutputFile[];
  link: string;
  next_from_char: number | null;
  object: "work";
  status: "idle" | "running";
  /** Latest result, paged by 20,000 characters. */
  text: string;
  title: string;
  work_id: string;
}

/** A deleted work. */
export interface WorkDeleted {
  /** Always true. */
  deleted: boolean;
  object: "work";
  work_id: string;
}

/** A line of the work list. */
export interface WorkItem {
  link: string;
  object: "work";
  preview: string;
  status: "idle" | "running";
  title: string;
  /** When its latest result came, else when it was opened. */
  updated_at: string;
  work_id: string;
}

/** Works, newest first. */
export interface WorkList {
  data: WorkItem[];
  has_more: boolean;
  object: "list";
}

export type WebhookEvent = JobWebhookEvent | MessageWebhookEvent | TestWebhookEvent;

/** The code of an error; newer servers may have more. */
export type ErrorCode =
  | "bad_cursor"
  | "bad_events"
  | "bad_request"
  | "bad_size"
  | "bad_url"
  | "changed"
  | "empty_message"
  | "executable_refused"
  | "forbidden"
  | "idempotency_conflict"
  | "internal"
  | "invalid_request"
  | "not_final"
  | "not_found"
  | "not_pending"
  | "not_uploaded"
  | "poll_in_progress"
  | "rate_limited"
  | "too_large"
  | "too_long"
  | "too_many"
  | "too_many_endpoints"
  | "unauthorized"
  | "unavailable"
  | "upload_not_ready"
  | (string & {});

/** What each operation takes and gives. */
export interface Operations {
  /** Read the key's events, or wait for the next ones */
  listEvents: {
    path: {};
    query: {
      /** Hold the call up to that many seconds, until something changes. */
      wait?: number;
      /** How many to list. */
      limit?: number;
      /** Where to continue: the `cursor` of the last answer. */
      cursor?: string;
      /** Only events with one of these names, separated by commas. */
      types?: string;
      /** Only events of messages of the conversation with this name. */
      conversation?: string;
    };
    body: undefined;
    answer: AccountEventList;
  };
  /** Read a file's facts and a fresh download link */
  getFile: {
    path: {
      /** The `file_id` of a file, with its slashes. */
      file_id: string;
    };
    query: {};
    body: undefined;
    answer: OutputFileObject;
  };
  /** Read the account of this key */
  getAccount: {
    path: {};
    query: {};
    body: undefined;
    answer: Account;
  };
  /** List the messages of this key */
  listMessages: {
    path: {};
    query: {
      /** How many to list. */
      limit?: number;
      /** Only messages older than the one with this `id`. */
      before?: string;
      /** Only messages with this status. */
      status?: "processing" | "needs_input" | "blocked" | "completed" | "partial" | "failed" | "expired";
      /** Only messages of the conversation with this name. */
      conversation?: string;
      /** Only messages accepted at this time or later. */
      created_after?: string;
      /** Only messages accepted before this time. */
      created_before?: string;
      /**
       * Only messages with these labels, each `label=text`, as in `metadata=order=1042`. A label
       * with a `=` in it is written `metadata[label]=text`, as any label may be.
       */
      metadata?: string[];
    };
    body: undefined;
    answer: MessageList;
  };
  /** Send a message to the agent */
  createMessage: {
    path: {};
    query: {
      /**
       * Hold the call at most that many seconds for the agent's answer. With 0 it is answered as
       * soon as the message is accepted. Left out, or above what the server allows, the server's
       * own limit holds, about 30 seconds.
       */
      wait?: number;
    };
    body: MessageInput;
    answer: Message;
  };
  /** Delete a final message */
  deleteMessage: {
    path: {
      /** The `id` of a message. */
      message_id: string;
    };
    query: {};
    body: undefined;
    answer: MessageDeleted;
  };
  /** Read a message, or wait for it to change */
  getMessage: {
    path: {
      /** The `id` of a message. */
      message_id: string;
    };
    query: {
      /** Hold the call up to that many seconds, until something changes. */
      wait?: number;
    };
    body: undefined;
    answer: Message;
  };
  /** Stop everything that still runs for a message */
  cancelMessage: {
    path: {
      /** The `id` of a message. */
      message_id: string;
    };
    query: {};
    body: undefined;
    answer: Message;
  };
  /** Read a message's event log, or wait for its next entries */
  listMessageEvents: {
    path: {
      /** The `id` of a message. */
      message_id: string;
    };
    query: {
      /** Hold the call up to that many seconds, until something changes. */
      wait?: number;
      /** Where to continue: the `cursor` of the last answer. */
      cursor?: string;
    };
    body: undefined;
    answer: EventList;
  };
  /** Watch a message's expired work again */
  recoverMessage: {
    path: {
      /** The `id` of a message. */
      message_id: string;
    };
    query: {};
    body: RecoverInput | undefined;
    answer: Recovery;
  };
  /** Follow a message's event log as an event stream */
  streamMessage: {
    path: {
      /** The `id` of a message. */
      message_id: string;
    };
    query: {
      /** Where to continue: a `cursor` of this message's log. */
      cursor?: string;
    };
    body: undefined;
    answer: undefined;
  };
  /** Read the request log, or wait for the next requests */
  listRequests: {
    path: {};
    query: {
      /** How many to list. */
      limit?: number;
      /** Hold the call up to that many seconds, until something changes. */
      wait?: number;
      /** Only requests older than the one with this `id`. */
      before?: string;
      /** Only requests that ended since the answer with this `cursor`. */
      cursor?: string;
      /** Only requests with the key of this id. */
      key?: string;
      /** Only requests with this method. */
      method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
      /** Only this status, as `404`; `4xx`: its kind; `failed`: 400 and above. */
      status?: string;
      /** Only requests with this in their path or query, in any case. */
      path?: string;
      /** Only requests refused with this error code. */
      error?: string;
      /** Only requests that came at this time or later. */
      created_after?: string;
      /** Only requests that came before this time. */
      created_before?: string;
    };
    body: undefined;
    answer: LoggedRequestList;
  };
  /** Read a request with its bodies */
  getRequest: {
    path: {
      /** `req_<id>`, as `Request-Id` of the answer has it. */
      request_id: string;
    };
    query: {};
    body: undefined;
    answer: LoggedRequestDetails;
  };
  /** List the schedules of this key */
  listSchedules: {
    path: {};
    query: {
      /** How many to list. */
      limit?: number;
      /** Only schedules older than the one with this id. */
      before?: string;
    };
    body: undefined;
    answer: ScheduleList;
  };
  /** Send a message at given times */
  createSchedule: {
    path: {};
    query: {};
    body: ScheduleInput;
    answer: Schedule;
  };
  /** Delete a schedule */
  deleteSchedule: {
    path: {
      /** The `id` of a schedule. */
      schedule_id: string;
    };
    query: {};
    body: undefined;
    answer: DeletedSchedule;
  };
  /** Read a schedule */
  getSchedule: {
    path: {
      /** The `id` of a schedule. */
      schedule_id: string;
    };
    query: {};
    body: undefined;
    answer: Schedule;
  };
  /** Pause or continue a schedule */
  updateSchedule: {
    path: {
      /** The `id` of a schedule. */
      schedule_id: string;
    };
    query: {};
    body: ScheduleChangeInput;
    answer: Schedule;
  };
  /** Announce a large file */
  createUpload: {
    path: {};
    query: {};
    body: UploadInput;
    answer: UploadCreated;
  };
  /** Check a posted file and make it ready for a message */
  completeUpload: {
    path: {
      /** The `upload_id` of an upload. */
      upload_id: string;
    };
    query: {};
    body: undefined;
    answer: Upload;
  };
  /** Sum up what the account used */
  listUsage: {
    path: {};
    query: {
      /** How many to list. */
      limit?: number;
      /** Sum up by day (default), key or conversation. */
      group_by?: "day" | "key" | "conversation";
      /**
       * The first moment: a day such as `2026-01-31`, which is its midnight in UTC, or an ISO 8601
       * time with its offset. Without it the last 30 days before `to`, begun ones included.
       */
      from?: string;
      /** The first moment that does not count, as `from`; now by default. */
      to?: string;
      /** Only lines with an `id` less than this one. */
      before?: string;
    };
    body: undefined;
    answer: UsageList;
  };
  /** List webhook endpoints */
  listWebhookEndpoints: {
    path: {};
    query: {};
    body: undefined;
    answer: EndpointList;
  };
  /** Register a webhook endpoint */
  createWebhookEndpoint: {
    path: {};
    query: {};
    body: EndpointInput;
    answer: NewEndpoint;
  };
  /** Remove a webhook endpoint */
  deleteWebhookEndpoint: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
    };
    query: {};
    body: undefined;
    answer: DeletedEndpoint;
  };
  /** Read a webhook endpoint and its newest deliveries */
  getWebhookEndpoint: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
    };
    query: {};
    body: undefined;
    answer: EndpointWithDeliveries;
  };
  /** Change a webhook endpoint, disable or enable it */
  updateWebhookEndpoint: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
    };
    query: {};
    body: EndpointChangeInput;
    answer: Endpoint;
  };
  /** List the deliveries of a webhook endpoint */
  listWebhookDeliveries: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
    };
    query: {
      /** How many to list. */
      limit?: number;
      /** Only deliveries older than the one with this `id`. */
      before?: string;
      /** Only deliveries with this status. */
      status?: "pending" | "delivered" | "failed" | "dropped" | "cancelled";
    };
    body: undefined;
    answer: DeliveryList;
  };
  /** Send a delivery again */
  redeliverWebhookEvent: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
      /** The `id` of a delivery. */
      event_id: string;
    };
    query: {};
    body: undefined;
    answer: Delivery;
  };
  /** Send the deliveries of a time range again */
  replayWebhookEvents: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
    };
    query: {};
    body: ReplayInput;
    answer: Replay;
  };
  /** Replace the secret of a webhook endpoint */
  rotateWebhookSecret: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
    };
    query: {};
    body: RotateInput | undefined;
    answer: RotatedSecret;
  };
  /** Send a test event */
  testWebhookEndpoint: {
    path: {
      /** The `id` of a webhook endpoint. */
      endpoint_id: string;
    };
    query: {};
    body: TestInput | undefined;
    answer: Delivery;
  };
  /** List works, newest first */
  listWork: {
    path: {};
    query: {
      /** How many to list. */
      limit?: number;
      /** Only works older than the one with this `work_id`. */
      before?: string;
    };
    body: undefined;
    answer: WorkList;
  };
  /** Stop what runs in a work and delete it with its files */
  deleteWork: {
    path: {
      /** The `work_id` of a work, as jobs and files have it. */
      work_id: string;
    };
    query: {};
    body: undefined;
    answer: WorkDeleted;
  };
  /** Read a work and its newest files */
  getWork: {
    path: {
      /** The `work_id` of a work, as jobs and files have it. */
      work_id: string;
    };
    query: {
      /** Where the page of text begins. */
      from_char?: number;
    };
    body: undefined;
    answer: Work;
  };
  /** Stop everything that runs or waits in a work */
  stopWork: {
    path: {
      /** The `work_id` of a work, as jobs and files have it. */
      work_id: string;
    };
    query: {};
    body: undefined;
    answer: Work;
  };
}

/** The method and the path of each operation. */
export const OPERATIONS = {
  listEvents: ["GET", "/v1/events"],
  getFile: ["GET", "/v1/files/{file_id}"],
  getAccount: ["GET", "/v1/me"],
  listMessages: ["GET", "/v1/messages"],
  createMessage: ["POST", "/v1/messages"],
  deleteMessage: ["DELETE", "/v1/messages/{message_id}"],
  getMessage: ["GET", "/v1/messages/{message_id}"],
  cancelMessage: ["POST", "/v1/messages/{message_id}/cancel"],
  listMessageEvents: ["GET", "/v1/messages/{message_id}/events"],
  recoverMessage: ["POST", "/v1/messages/{message_id}/recover"],
  streamMessage: ["GET", "/v1/messages/{message_id}/stream"],
  listRequests: ["GET", "/v1/requests"],
  getRequest: ["GET", "/v1/requests/{request_id}"],
  listSchedules: ["GET", "/v1/schedules"],
  createSchedule: ["POST", "/v1/schedules"],
  deleteSchedule: ["DELETE", "/v1/schedules/{schedule_id}"],
  getSchedule: ["GET", "/v1/schedules/{schedule_id}"],
  updateSchedule: ["PATCH", "/v1/schedules/{schedule_id}"],
  createUpload: ["POST", "/v1/uploads"],
  completeUpload: ["POST", "/v1/uploads/{upload_id}/complete"],
  listUsage: ["GET", "/v1/usage"],
  listWebhookEndpoints: ["GET", "/v1/webhooks"],
  createWebhookEndpoint: ["POST", "/v1/webhooks"],
  deleteWebhookEndpoint: ["DELETE", "/v1/webhooks/{endpoint_id}"],
  getWebhookEndpoint: ["GET", "/v1/webhooks/{endpoint_id}"],
  updateWebhookEndpoint: ["PATCH", "/v1/webhooks/{endpoint_id}"],
  listWebhookDeliveries: ["GET", "/v1/webhooks/{endpoint_id}/deliveries"],
  redeliverWebhookEvent: ["POST", "/v1/webhooks/{endpoint_id}/deliveries/{event_id}/redeliver"],
  replayWebhookEvents: ["POST", "/v1/webhooks/{endpoint_id}/replay"],
  rotateWebhookSecret: ["POST", "/v1/webhooks/{endpoint_id}/rotate-secret"],
  testWebhookEndpoint: ["POST", "/v1/webhooks/{endpoint_id}/test"],
  listWork: ["GET", "/v1/work"],
  deleteWork: ["DELETE", "/v1/work/{work_id}"],
  getWork: ["GET", "/v1/work/{work_id}"],
  stopWork: ["POST", "/v1/work/{work_id}/stop"],
} as const satisfies Record<keyof Operations, readonly [string, string]>;
