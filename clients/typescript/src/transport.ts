import { OPERATIONS, type Operations } from "./api.js";
import {
  AgentpostError,
  ApiError,
  BadAnswerError,
  ConfigError,
  ConnectionError,
  TimeoutError,
} from "./errors.js";
import { DEFAULT_RETRIES, pauseBefore, sleep, type RetryPolicy } from "./retries.js";
import { VERSION } from "./version.js";

export interface ClientOptions {
  /** The server's address; `AGENTPOST_URL` when it is left out. */
  url?: string;
  /** An API key; `AGENTPOST_KEY` when it is left out. Keep it out of browsers. */
  key?: string;
  /** How long one call may take, without the time it asks the server to hold it. Default 60 s. */
  timeoutMs?: number;
  retry?: Partial<RetryPolicy>;
  /** Called before each pause between two tries, and never with a secret. */
  onRetry?: (event: RetryEvent) => void;
  /** Instead of the global one. */
  fetch?: typeof fetch;
}

export interface RetryEvent {
  operation: string;
  attempt: number;
  pauseMs: number;
  error: Error;
}

/** What a single call may be given. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface Call<Name extends keyof Operations> extends CallOptions {
  path?: Operations[Name]["path"];
  query?: Operations[Name]["query"];
  body?: Operations[Name]["body"];
  headers?: Record<string, string>;
  /** Seconds for which the server holds the call. */
  holdSeconds?: number;
  /** May the call be sent twice? GET, PATCH and DELETE may. */
  repeatable?: boolean;
  retries?: number;
}

/** How one request is made. */
export interface Exchange {
  /** For the answer, as far as it is read here; left out: any time. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** The body is read later: the signal ends that, too. */
  isLeftOpen?: boolean;
}

const TIMEOUT_MS = 60_000;
/** Timers have 31 bits: a longer one would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const EVENT_STREAM = "text/event-stream";

/** Sends calls, tries them again, makes errors of refusals. */
export class Transport {
  readonly url: string;
  readonly retry: RetryPolicy;
  readonly #key: string;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;
  readonly #isOwnFetch: boolean;
  readonly #onRetry: ((event: RetryEvent) => void) | undefined;

  constructor(options: ClientOptions) {
    this.url = checkedUrl(options.url ?? environment("AGENTPOST_URL"));
    this.#key = checkedKey(options.key ?? environment("AGENTPOST_KEY"));
    this.#timeoutMs = checkedTimeout(options.timeoutMs ?? TIMEOUT_MS);
    this.#fetch = checkedFetch(options.fetch);
    this.#isOwnFetch = options.fetch === undefined;
    this.#onRetry = options.onRetry;
    this.retry = { ...DEFAULT_RETRIES, ...options.retry };
  }

  /** The answer of one operation, as the server gave it. */
  async call<Name extends keyof Operations>(
    operation: Name,
    call: Call<Name> = {},
  ): Promise<Operations[Name]["answer"]> {
    const { method, url, init } = this.#request(operation, call, "application/json");
    const repeatable = call.repeatable ?? method !== "POST";
    const retries = repeatable ? (call.retries ?? this.retry.retries) : 0;
    const timeoutMs = this.#timeoutMs + (call.holdSeconds ?? 0) * 1000;
    return this.tried(operation, retries, call.signal, async () => {
      const answer = await this.send(url, init, { timeoutMs, signal: call.signal }, parsed);
      return answer as Operations[Name]["answer"];
    });
  }

  /** The answer of an operation as an event stream that is open; it is tried again until then. */
  async open<Name extends keyof Operations>(
    operation: Name,
    call: Call<Name> = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const { url, init } = this.#request(operation, call, EVENT_STREAM);
    const retries = call.retries ?? this.retry.retries;
    const exchange = { timeoutMs: this.#timeoutMs, signal: call.signal, isLeftOpen: true };
    return this.tried(operation, retries, call.signal, () =>
      this.send(url, init, exchange, async (response) => {
        if (!response.ok) await parsed(response);
        const isStream = response.headers.get("content-type")?.startsWith(EVENT_STREAM);
        if (!isStream || response.body === null)
          throw new BadAnswerError(`${host(url)} gave no event stream.`);
        return response.body;
      }),
    );
  }

  #request<Name extends keyof Operations>(
    operation: Name,
    call: Call<Name>,
    accept: string,
  ): { method: string; url: string; init: RequestInit } {
    const [method, template] = OPERATIONS[operation];
    const url = address(this.url, template, call.path ?? {}, call.query ?? {});
    const headers = new Headers(call.headers);
    headers.set("authorization", `Bearer ${this.#key}`);
    headers.set("accept", accept);
    if (typeof process !== "undefined") headers.set("user-agent", `agentpost-typescript/${VERSION}`);
    const init: RequestInit = { method, headers };
    if (call.body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(call.body);
    }
    return { method, url, init };
  }

  /** Calls `once` until it succeeds or the policy gives up. */
  async tried<T>(
    operation: string,
    retries: number,
    signal: AbortSignal | undefined,
    once: () => Promise<T>,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await once();
      } catch (error) {
        const pauseMs = attempt < retries ? pauseBefore(this.retry, attempt, error) : undefined;
        if (pauseMs === undefined) throw error;
        this.#onRetry?.({ operation, attempt: attempt + 1, pauseMs, error: error as Error });
        await sleep(pauseMs, signal);
      }
    }
  }

  /** One request, and what `read` makes of its answer. Rejects with `ConnectionError` when none
   * comes. A redirect is refused, unless `init` says otherwise: a key is for one server. */
  async send<T>(
    url: string,
    init: RequestInit,
    { timeoutMs, signal, isLeftOpen }: Exchange,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal?.reason);
    const expire = (): void => ending.abort(overdue(url, timeoutMs));
    signal?.addEventListener("abort", stop, { once: true });
    const isTimed = timeoutMs !== undefined && timeoutMs <= TIMER_MS_MAX;
    const timer = isTimed ? setTimeout(expire, timeoutMs) : undefined;
    const fetch = this.#fetch; // called as a function: as a method, some runtimes refuse it
    let isAnswered = false;
    try {
      // "error" is not known everywhere.
      const response = await fetch(url, { redirect: "manual", ...init, signal: ending.signal });
      isAnswered = true;
      refuseRedirect(response, url);
      return await read(response);
    } catch (error) {
      if (ending.signal.aborted) throw ending.signal.reason;
      if (error instanceof AgentpostError) throw error;
      if (!isAnswered && !this.#isOfNetwork(error, url, init)) throw error;
      const problem = isAnswered ? "did not answer to the end" : "cannot be reached";
      throw new ConnectionError(`${host(url)} ${problem}: ${reason(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
      if (!isLeftOpen) signal?.removeEventListener("abort", stop);
    }
  }

  /** Did the network fail, and not the program? What no request can be made of never got there, and
   * a `fetch` that was given may throw anything. */
  #isOfNetwork(error: unknown, url: string, init: RequestInit): boolean {
    try {
      new Request(url, init);
    } catch {
      return false;
    }
    const { name, code, retryable } = error as { name?: unknown; code?: unknown; retryable?: unknown };
    return this.#isOwnFetch || name === "TypeError" || typeof code === "string" || retryable === true;
  }
}

function overdue(url: string, timeoutMs: number | undefined): TimeoutError {
  return new TimeoutError(`${host(url)} did not answer within ${(timeoutMs ?? 0) / 1000} s.`);
}

/** What the runtime says, which Node.js keeps in the cause; of addresses only the hosts. */
function reason(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  const text = cause?.message || cause?.code || message || String(error);
  return text.trim().replace(/https?:\/\/[^\s"')]+/g, host);
}

/** Raises `BadAnswerError` for a redirect; browsers do not say which status it has. */
function refuseRedirect(response: Response, url: string): void {
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400))
    throw new BadAnswerError(`${host(url)} answers with a redirect; use the address it leads to.`);
}

/** The body of a success; raises `ApiError` for a refusal. */
async function parsed(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new ApiError(response.status, jsonObject(text), response.headers);
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    throw new BadAnswerError("The answer is not JSON; is this the address of an agentpost server?");
  }
}

function jsonObject(text: string): Record<string, never> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, never>) : {};
  } catch {
    return {}; // a proxy's page, say
  }
}

function address(url: string, template: string, path: object, query: object): string {
  const given = path as Record<string, string>;
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = given[name];
    if (!value) throw new ConfigError(`${name} is empty.`);
    const segments = value.split("/").map(encodeURIComponent);
    // "." and ".." would be taken out of the path by `fetch`.
    if (segments.some((one) => /^\.{0,2}$/.test(one)) || (segments.length > 1 && name !== "file_id"))
      throw new ConfigError(`${name} is not an id: ${value}`);
    return segments.join("/");
  });
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query) as Array<[string, unknown]>) {
    if (value !== undefined && value !== null) asked.append(name, String(value));
  }
  return `${url}${filled}${asked.size > 0 ? `?${asked}` : ""}`;
}

function environment(name: string): string | undefined {
  return typeof process === "undefined" ? undefined : process.env[name];
}

/** Without outer blanks, slashes at its end and `/v1`: it is often copied with them. */
function checkedUrl(text: string | undefined): string {
  const url = text?.trim();
  if (!url) throw new ConfigError("Give the server's address: `url`, or AGENTPOST_URL.");
  // A password in it would be sent in place of the key, and shown in errors.
  if (!/^https?:\/\/[^/?#@\s]+[^?#@\s]*$/i.test(url) || !URL.canParse(url))
    throw new ConfigError(
      "The server's address is not an http address of a host, without a password: check `url`, or AGENTPOST_URL.",
    );
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** Without outer blanks, such as the newline of a file. */
function checkedKey(text: string | undefined): string {
  const key = text?.trim();
  if (!key) throw new ConfigError("Give an API key: `key`, or AGENTPOST_KEY.");
  if (!/^[\x21-\x7e]+$/.test(key)) throw new ConfigError("The API key has characters no key has.");
  return key;
}

function checkedTimeout(timeoutMs: number): number {
  if (timeoutMs > 0) return timeoutMs;
  throw new ConfigError(`timeoutMs is ${timeoutMs}: give a number above 0.`);
}

function checkedFetch(given: typeof fetch | undefined): typeof fetch {
  const chosen: unknown = given ?? globalThis.fetch;
  if (typeof chosen !== "function")
    throw new ConfigError("There is no `fetch` here: use Node.js 20 or newer, or give one.");
  return given ?? ((...request) => fetch(...request)); // the one of then: tests replace it
}

/** Of an address only the host: the rest of a link is a key to a file. */
export function host(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "the server";
}
