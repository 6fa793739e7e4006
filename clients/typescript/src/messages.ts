import type { Entry, EventList, Message, MessageInput, MessageItem, Operations } from "./api.js";
import { pack, type Attachment } from "./attachments.js";
import { MessageCalls } from "./calls.js";
import { ConfigError, ConnectionError, WaitTimeoutError } from "./errors.js";
import { events } from "./event_stream.js";
import { items } from "./pages.js";
import { backoff, sleep } from "./retries.js";
import type { Call, CallOptions, Transport } from "./transport.js";
import type { Uploads } from "./uploads.js";

export interface SendOptions extends CallOptions {
  /** Sent with the message; large ones are uploaded first. */
  files?: readonly Attachment[];
  /** Finished uploads. */
  uploadIds?: readonly string[];
  /** Name of the conversation, such as your customer's id. Messages without one share memory and
   * files. */
  conversation?: string;
  /** Labels, given back unchanged. */
  metadata?: Record<string, string>;
  /** The endpoint that alone gets this message's events. */
  webhookEndpointId?: string;
  /** While the conversation has another turn: `wait` (the default; the message is sent again when
   * the agent stays busy), `fail` at once, or `queue` until its turn comes. */
  busy?: "wait" | "fail" | "queue";
  /** What the work of this message may use; then it is parked. */
  maxCredits?: number;
  /** The message whose question this one answers, in its conversation. */
  answerTo?: string;
  /** One of its choices, or JSON that fits its schema; the message may be "" then. */
  answer?: unknown;
  /** A JSON Schema that the message's `output` has to fit. */
  responseSchema?: Record<string, unknown>;
  /** Key of the message: a repeat from another process finds the same message. */
  idempotencyKey?: string;
  /** The call is held at most so long for the agent's answer, 0 to 45; with 0 it is answered as soon
   * as the message is accepted. Left out: about 30. */
  waitSeconds?: number;
}

/** Which messages a list gives: those for which all of it holds. */
export type MessageFilter = Omit<Operations["listMessages"]["query"], "before" | "metadata"> & {
  /** Labels that the message was sent with. */
  metadata?: Record<string, string>;
};

export interface WaitOptions extends CallOptions {
  /** Give up after so long with `WaitTimeoutError`; the work continues. */
  timeoutMs?: number;
}

export interface FollowOptions extends CallOptions {
  /** Continue behind an entry read before: its `cursor`. */
  cursor?: string;
  /** Leave out the entries up to this `seq`. */
  after?: number;
}

/** What a stream gives: an entry of the log, or text that the agent is still writing. A piece of
 * text may get lost on its way; the whole text comes with its entry. */
export type Streamed =
  | { type: "entry"; entry: FollowedEntry }
  | { type: "delta"; text: string; offset: number; jobId: string | undefined }
  | { type: "reset"; jobId: string | undefined };

/** What `sendAndStream` gives: what a stream gives and, first and last, the message: as it was
 * accepted, and as it is in the end. */
export type Sent = { type: "message"; message: Message } | Streamed;

/** An entry of a message's log, with the cursor to continue behind it. */
export type FollowedEntry = Entry & { cursor: string | undefined };

const HOLD_SECONDS = 45;
const AGENT_BUSY_SECONDS = 15;
const EMPTY_POLL_MS = 1_000;
const IDEMPOTENCY_KEY_CHARACTERS_MAX = 128;

export class Messages extends MessageCalls {
  readonly #transport: Transport;
  readonly #uploads: Uploads;

  constructor(transport: Transport, uploads: Uploads) {
    super(transport);
    this.#transport = transport;
    this.#uploads = uploads;
  }

  /** Send a message; resolves when the agent has answered or its work has begun.
   *
   * One idempotency key covers all tries, so nothing is done twice; when the agent is busy with
   * another message of the conversation, the message is sent again.
   */
  async send(message: string, options: SendOptions = {}): Promise<Message> {
    const request = await this.#request(message, options);
    for (let attempt = 0; ; attempt++) {
      const sent = await this.#transport.call("createMessage", request);
      if (!this.#isSentAgain(sent, options, attempt)) return sent;
      await pauseFor(sent, options.signal);
    }
  }

  /** `send`, then `stream`: the reply comes while it is written, and the final message last.
   *
   * While the agent is busy the message is sent again, as by `send`, and comes as a further
   * `message`. Leaving the loop ends the reading, not the work.
   */
  async *sendAndStream(
    message: string,
    options: Omit<SendOptions, "waitSeconds"> = {},
  ): AsyncGenerator<Sent, void> {
    const { signal } = options;
    const request = await this.#request(message, { ...options, waitSeconds: 0 });
    let cursor: string | undefined;
    for (let attempt = 0; ; attempt++) {
      const sent = await this.#transport.call("createMessage", request);
      yield { type: "message", message: sent };
      for await (const each of this.stream(sent.id, { signal, ...(cursor ? { cursor } : {}) })) {
        if (each.type === "entry") cursor = each.entry.cursor;
        yield each;
      }
      const done = await this.get(sent.id, { signal });
      if (!this.#isSentAgain(done, options, attempt)) {
        yield { type: "message", message: done };
        return;
      }
      await pauseFor(done, signal);
    }
  }

  /** The call that creates the message, its large files uploaded. */
  async #request(message: string, options: SendOptions): Promise<Call<"createMessage">> {
    const { signal, waitSeconds } = options;
    const key = checkedKey(options.idempotencyKey ?? crypto.randomUUID());
    const packed = await pack(options.files ?? []);
    const uploadIds = [...(options.uploadIds ?? [])];
    for (const outgoing of packed.uploads) {
      uploadIds.push((await this.#uploads.post(outgoing, { signal })).upload_id);
    }
    const body: MessageInput = {
      ...(message ? { message } : {}),
      ...(packed.inline.length > 0 ? { files: packed.inline } : {}),
      ...(uploadIds.length > 0 ? { upload_ids: uploadIds } : {}),
      ...(options.conversation ? { conversation: options.conversation } : {}),
      ...(options.metadata ? { metadata: options.metadata } : {}),
      ...(options.webhookEndpointId ? { webhook_endpoint_id: options.webhookEndpointId } : {}),
      ...(options.busy ? { busy: options.busy } : {}),
      ...(options.maxCredits === undefined ? {} : { max_credits: options.maxCredits }),
      ...(options.answerTo ? { answer_to: options.answerTo } : {}),
      ...(options.answer === undefined ? {} : { answer: options.answer }),
      ...(options.responseSchema ? { response_schema: options.responseSchema } : {}),
    };
    return {
      body,
      query: waitSeconds === undefined ? {} : { wait: waitSeconds },
      headers: { "idempotency-key": key },
      holdSeconds: waitSeconds ?? HOLD_SECONDS,
      repeatable: true,
      signal,
    };
  }

  /** Was the agent busy with another message, and may the same call help? */
  #isSentAgain(sent: Message, options: SendOptions, attempt: number): boolean {
    const busyRetries = (options.busy ?? "wait") === "wait" ? this.#transport.retry.busyRetries : 0;
    return sent.reason === "agent_busy" && attempt < busyRetries;
  }

  /** `send`, then `wait`. */
  async sendAndWait(message: string, options: SendOptions & WaitOptions = {}): Promise<Message> {
    const began = performance.now();
    const sent = await this.send(message, options);
    if (sent.final || options.timeoutMs === undefined) {
      return sent.final ? sent : this.wait(sent.id, options);
    }
    const left = Math.max(0, options.timeoutMs - (performance.now() - began));
    return this.wait(sent.id, { ...options, timeoutMs: left });
  }

  /** The message as it is, or as it is after the next change within `waitSeconds` (up to 45). */
  get(id: string, options: CallOptions & { waitSeconds?: number } = {}): Promise<Message> {
    return this.#get(id, options.waitSeconds ?? 0, this.#transport.retry.retries, options.signal);
  }

  /** Resolves when the message is final: nothing about it will change any more. */
  async wait(id: string, options: WaitOptions = {}): Promise<Message> {
    const { timeoutMs, signal } = options;
    const began = performance.now();
    const { retries, retriesWhileFollowing } = this.#transport.retry;
    let message = await this.#get(id, 0, retries, signal);
    while (!message.final) {
      const asked = performance.now();
      const left = timeoutMs === undefined ? Infinity : timeoutMs - (asked - began);
      if (left <= 0) throw new WaitTimeoutError(message, timeoutMs ?? 0);
      const seconds = Math.min(HOLD_SECONDS, Math.ceil(left / 1000));
      const version = message.version;
      message = await this.#get(id, seconds, retriesWhileFollowing, signal);
      // A server that is about to end answers at once.
      const isHasty = message.version === version && performance.now() - asked < EMPTY_POLL_MS;
      if (isHasty && !message.final) await sleep(EMPTY_POLL_MS, signal);
    }
    return message;
  }

  #get(id: string, wait: number, retries: number, signal?: AbortSignal): Promise<Message> {
    return this.#transport.call("getMessage", {
      path: { message_id: id },
      query: wait > 0 ? { wait } : {},
      holdSeconds: wait,
      retries,
      signal,
    });
  }

  /** The entries of the message's log, as they come, until it has nothing more to report.
   *
   * Nothing is lost or repeated after a lost connection or a restart of the server. Keep an entry's
   * `cursor` (or its `seq`, for `after`) to continue in another process.
   */
  async *follow(id: string, options: FollowOptions = {}): AsyncGenerator<FollowedEntry, void> {
    for await (const part of this.stream(id, options)) if (part.type === "entry") yield part.entry;
  }

  /** A page of the message's log, at once or held for up to `wait` seconds. */
  events(
    id: string,
    query: Operations["listMessageEvents"]["query"] = {},
    options: CallOptions = {},
  ): Promise<EventList> {
    const path = { message_id: id };
    const holdSeconds = query.wait ?? 0;
    return this.#transport.call("listMessageEvents", { path, query, holdSeconds, ...options });
  }

  /** The log's entries and the text that is being written, over one connection at a time.
   *
   * A lost one is opened again behind the last entry. Ends when the message has nothing more to
   * report.
   */
  async *stream(id: string, options: FollowOptions = {}): AsyncGenerator<Streamed, void> {
    const { signal } = options;
    const { retry } = this.#transport;
    let { cursor } = options;
    let lastSeq = options.after ?? 0;
    let { retries } = retry;
    for (let failures = 0; ; ) {
      try {
        const body = await this.#transport.open("streamMessage", {
          path: { message_id: id },
          headers: cursor ? { "last-event-id": cursor } : {},
          retries,
          signal,
        });
        retries = retry.retriesWhileFollowing;
        for await (const event of events(body)) {
          failures = 0;
          if (event.id) cursor = event.id;
          if (event.name === "end") return;
          const streamed = readEvent(event.name, event.data, cursor);
          if (streamed?.type === "entry") {
            if (streamed.entry.seq <= lastSeq) continue;
            lastSeq = streamed.entry.seq;
          }
          if (streamed) yield streamed;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof ConnectionError) || failures >= retries) throw error;
      }
      await sleep(EMPTY_POLL_MS + backoff(retry, failures++), signal);
    }
  }

  /** All messages of this key that fit, newest first; pages are fetched as they are needed. */
  list(query: MessageFilter = {}, options: CallOptions = {}): AsyncGenerator<MessageItem, void> {
    const { metadata = {}, ...filter } = query;
    const labels: object = Object.fromEntries(
      Object.entries(metadata).map(([label, text]) => [`metadata[${label}]`, text]),
    );
    return items(
      (before) =>
        this.#transport.call("listMessages", {
          query: { ...filter, ...labels, ...before },
          ...options,
        }),
      (last) => last.id,
    );
  }
}

function readEvent(name: string, data: string, cursor: string | undefined): Streamed | undefined {
  const value = JSON.parse(data) as Record<string, unknown>;
  const jobId = typeof value.job_id === "string" ? value.job_id : undefined;
  if (name === "delta") {
    return { type: "delta", text: String(value.text ?? ""), offset: Number(value.offset ?? 0), jobId };
  }
  if (name === "reset") return { type: "reset", jobId };
  // What else a newer server may tell has no place in the log.
  return typeof value.seq === "number"
    ? { type: "entry", entry: { ...(value as unknown as Entry), cursor } }
    : undefined;
}

function pauseFor(busy: Message, signal: AbortSignal | undefined): Promise<void> {
  return sleep((busy.retry_after_seconds ?? AGENT_BUSY_SECONDS) * 1000, signal);
}

/** A key the server would cut or take for none could mean another message. */
function checkedKey(key: string): string {
  if (key.length > IDEMPOTENCY_KEY_CHARACTERS_MAX || !/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(key)) {
    throw new ConfigError(
      `idempotencyKey must be 1 to ${IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters` +
        " without outer blanks.",
    );
  }
  return key;
}
