import type { ErrorBody, ErrorCode, Message, Problem } from "./api.js";

/** The base of all errors of this library. */
export class AgentpostError extends Error {
  override readonly name: string = "AgentpostError";
}

/** A setting of the client cannot be used: no key, a wrong address. */
export class ConfigError extends AgentpostError {
  override readonly name = "ConfigError";
}

/** A file cannot be read, or is not one that can be sent. */
export class FileRefusedError extends AgentpostError {
  override readonly name = "FileRefusedError";
}

/** The server refused a call. Branch on `code`; `message` is for people. */
export class ApiError extends AgentpostError {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  /** The HTTP status. */
  readonly status: number;
  /** The id of the request in the server's log. */
  readonly requestId: string | undefined;
  /** Which fields are wrong, with `invalid_request`. */
  readonly problems: readonly Problem[];
  /** Seconds to wait before the next try, when the server said so. */
  readonly retryAfterSeconds: number | undefined;
  /** Where the code is explained. */
  readonly docs: string | undefined;
  /** With `poll_in_progress`: where to continue. */
  readonly cursor: string | undefined;

  constructor(status: number, body: Partial<ErrorBody>, headers: Headers) {
    const code = body.error ?? `http_${status}`;
    const problems = body.problems ?? [];
    const details = problems.map((one) => `${one.field ?? "body"}: ${one.problem}`);
    super([`${code}: ${body.message ?? "the server gave no reason"}`, ...details].join("\n  "));
    this.code = code;
    this.status = status;
    this.requestId = body.request_id ?? headers.get("request-id") ?? undefined;
    this.problems = problems;
    this.retryAfterSeconds = retryAfter(headers);
    this.docs = body.docs;
    this.cursor = body.cursor;
  }
}

/** Something answered, but not this API: another address, a proxy's page, a redirect. */
export class BadAnswerError extends AgentpostError {
  override readonly name = "BadAnswerError";
}

/** No answer came: the server is not there, or the line broke. `cause` has the reason. */
export class ConnectionError extends AgentpostError {
  override readonly name: string = "ConnectionError";
}

/** A call took longer than `timeoutMs`. */
export class TimeoutError extends ConnectionError {
  override readonly name = "TimeoutError";
}

/** The message was not final in time; its work continues, and it can be waited for again. */
export class WaitTimeoutError extends AgentpostError {
  override readonly name = "WaitTimeoutError";

  constructor(
    /** The message as it was last. */
    readonly lastSeen: Message,
    milliseconds: number,
  ) {
    super(`${lastSeen.id} is not final after ${milliseconds / 1000} s (${lastSeen.status}).`);
  }
}

/** A webhook request that was not sent by the server, was changed, or is too old. */
export class WebhookRefusedError extends AgentpostError {
  override readonly name = "WebhookRefusedError";
}

/** The seconds of `Retry-After`. */
export function retryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
}
