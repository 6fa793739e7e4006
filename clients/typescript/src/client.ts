import type { Account, Operations, Usage } from "./api.js";
import { Events } from "./events.js";
import { Files } from "./files.js";
import { Messages } from "./messages.js";
import { items } from "./pages.js";
import { Requests } from "./requests.js";
import { Schedules } from "./schedules.js";
import { Transport, type CallOptions, type ClientOptions } from "./transport.js";
import { Uploads } from "./uploads.js";
import { WebhookEndpoints } from "./webhook_endpoints.js";
import { WorkResource } from "./work.js";

/** A client of one server with one key; its parts are the resources of the API.
 *
 *     const client = new Client(); // AGENTPOST_URL and AGENTPOST_KEY
 *     const done = await client.sendAndWait("Chart revenue by month", {
 *       files: ["sales.csv"],
 *       conversation: "customer-4711",
 *     });
 */
export class Client {
  readonly messages: Messages;
  readonly uploads: Uploads;
  readonly files: Files;
  readonly work: WorkResource;
  readonly webhooks: WebhookEndpoints;
  readonly events: Events;
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
    this.webhooks = new WebhookEndpoints(this.#transport);
    this.events = new Events(this.#transport);
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

  /** `messages.send`. */
  send: Messages["send"] = (...args) => this.messages.send(...args);
  /** `messages.sendAndWait`. */
  sendAndWait: Messages["sendAndWait"] = (...args) => this.messages.sendAndWait(...args);
  /** `messages.sendAndStream`. */
  sendAndStream: Messages["sendAndStream"] = (...args) => this.messages.sendAndStream(...args);
  /** `messages.get`. */
  get: Messages["get"] = (...args) => this.messages.get(...args);
  /** `messages.wait`. */
  wait: Messages["wait"] = (...args) => this.messages.wait(...args);
  /** `messages.follow`. */
  follow: Messages["follow"] = (...args) => this.messages.follow(...args);
  /** `uploads.send`. */
  upload: Uploads["send"] = (...args) => this.uploads.send(...args);
  /** `files.download`. */
  download: Files["download"] = (...args) => this.files.download(...args);
}
