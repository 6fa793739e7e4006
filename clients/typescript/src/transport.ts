import { OPERATIONS, type Operations } from "./api.js";
import { ApiError, ConfigError, ConnectionError, TimeoutError } from "./errors.js";
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

const TIMEOUT_MS = 60_000;

/** Sends calls, tries them again, makes errors of refusals. */
export class Transport {
  readonly url: string;
  readonly retry: RetryPolicy;
  readonly #key: string;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;
  readonly #onRetry: ((event: RetryEvent) => void) | undefined;

  constructor(options: ClientOptions) {
    this.url = checkedUrl(options.url ?? environment("AGENTPOST_URL"));
    this.#key = checkedKey(options.key ?? environment("AGENTPOST_KEY"));
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#fetch = options.fetch ?? ((...given) => fetch(...given));
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
    const limit = this.#timeoutMs + (call.holdSeconds ?? 0) * 1000;
    return this.tried(operation, retries, call.signal, async () => {
      const response = await this.send(url, init, limit, call.signal);
      return (await parsed(response, call.signal)) as Operations[Name]["answer"];
    });
  }

  /** The answer of an operation as an event stream that is open; it is tried again until then. */
  async open<Name extends keyof Operations>(
    operation: Name,
    call: Call<Name> = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const { url, init } = this.#request(operation, call, "text/event-stream");
    const retries = call.retries ?? this.retry.retries;
    return this.tried(operation, retries, call.signal, async () => {
      const response = await this.send(url, init, undefined, call.signal);
      if (!response.ok) await parsed(response, call.signal);
      if (response.body === null) throw new ConnectionError("The answer has no body.");
      return response.body;
    });
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

  /** One request; raises `ConnectionError` when no answer comes. Follows no redirect: a key is
   * for one server. */
  async send(
    url: string,
    init: RequestInit,
    timeoutMs: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const limit = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const signals = [limit, signal].filter((one) => one !== undefined);
    try {
      return await this.#fetch(url, {
        redirect: "error",
        ...init,
        ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (limit?.aborted) {
        throw new TimeoutError(`${host(url)} did not answer within ${(timeoutMs ?? 0) / 1000} s.`);
      }
      throw new ConnectionError(`${host(url)} cannot be reached.`, { cause: error });
    }
  }
}

/** The body of a success; raises `ApiError` for a refusal. */
async function parsed(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError("The answer broke off.", { cause: error });
  }
  if (response.ok) return text === "" ? undefined : JSON.parse(text);
  throw new ApiError(response.status, jsonObject(text), response.headers);
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

function checkedUrl(url: string | undefined): string {
  if (!url) throw new ConfigError("Give the server's address: `url`, or AGENTPOST_URL.");
  if (!/^https?:\/\/[^/?#]+/.test(url) || !URL.canParse(url))
    throw new ConfigError(`The server's address is not an http address: ${url}`);
  return url.replace(/\/+$/, "");
}

function checkedKey(key: string | undefined): string {
  if (!key) throw new ConfigError("Give an API key: `key`, or AGENTPOST_KEY.");
  if (!/^[\x21-\x7e]+$/.test(key)) throw new ConfigError("The API key has characters no key has.");
  return key;
}

/** Of an address only the host: the rest of a link is a key to a file. */
export function host(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "the server";
}
