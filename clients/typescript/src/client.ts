import type { Account, AccountEvent, Operations, Usage } from "./api.js";
import { Files } from "./files.js";
import { Messages } from "./messages.js";
import { items } from "./pages.js";
import { Requests } from "./requests.js";
import { sleep } from "./retries.js";
import { Schedules } from "./schedules.js";
import { Transport, type CallOptions, type ClientOptions } from "./transport.js";
import { Uploads } from "./uploads.js";
import { WebhookEndpoints } from "./webhook_endpoints.js";
import { WorkResource } from "./work.js";

const HOLD_SECONDS = 45;
const EMPTY_POLL_MS = 1_000;

/** A client of one server with one key; its parts are the resources of the API.
 *
 *     const client = new Agentpost(); // AGENTPOST_URL and AGENTPOST_KEY
 *     const done = await client.messages.sendAndWait("Chart revenue by month", { files: [csv] });
 */
export class Agentpost {
  readonly messages: Messages;
  readonly uploads: Uploads;
  readonly files: Files;
  readonly work: WorkResource;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly schedules: Schedules;
  readonly requests: Requests;
  readonly #transport: Transport;

  /** Raises `ConfigError` without an address or a key. */
  constructor(options: ClientOptions = {}) {
    this.#transport = new Transport(options);
    this.uploads = new Uploads(this.#transport);
    this.messages = new Messages(this.#transport, this.uploads);
    this.files = new Files(this.#transport);
    this.work = new WorkResource(this.#transport);
    this.webhookEndpoints = new WebhookEndpoints(this.#transport);
    this.schedules = new Schedules(this.#transport);
    this.requests = new Requests(this.#transport);
  }

  /** The account of the key: credits and limits. */
  me(options: CallOptions = {}): Promise<Account> {
    return this.#transport.call("getAccount", options);
  }

  /** What was used, by day, key or conversation; pages are fetched as they are needed. */
  usage(
    query: Omit<Operations["listUsage"]["query"], "before"> = {},
    options: CallOptions = {},
  ): AsyncGenerator<Usage, void> {
    return items(
      (before) => this.#transport.call("listUsage", { query: { ...query, ...before }, ...options }),
      (last) => last.id,
    );
  }

  /** The events of the key's messages, as webhook endpoints get them, without an endpoint (with the
   * scope `read_all` those of all keys of the account): those that come from now on, or behind `cursor`. Each has the cursor to go on from in another process. Ends
   * when the signal is aborted. */
  async *events(
    query: Pick<Operations["listEvents"]["query"], "cursor" | "types" | "conversation"> = {},
    options: CallOptions = {},
  ): AsyncGenerator<AccountEvent & { cursor: string }, void> {
    const { retry } = this.#transport;
    let { cursor } = query;
    let { retries } = retry;
    for (;;) {
      const asked = performance.now();
      const place = cursor === undefined ? {} : { cursor };
      const page = await this.#transport.call("listEvents", {
        query: { ...query, ...place, wait: HOLD_SECONDS },
        holdSeconds: HOLD_SECONDS,
        retries,
        ...options,
      });
      retries = retry.retriesWhileFollowing;
      for (const event of page.data) yield { ...event, cursor: page.cursor };
      cursor = page.cursor;
      const isHasty = page.data.length === 0 && performance.now() - asked < EMPTY_POLL_MS;
      if (isHasty) await sleep(EMPTY_POLL_MS, options.signal);
    }
  }
}
