import type { AccountEvent, AccountEventList, Operations } from "./api.js";
import { sleep } from "./retries.js";
import type { CallOptions, Transport } from "./transport.js";

const HOLD_SECONDS = 45;
const EMPTY_POLL_MS = 1_000;

type Query = Operations["listEvents"]["query"];

/** The events of the key's messages, as webhook endpoints get them; with the scope `read_all` those
 * of all keys of the account. */
export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, oldest first, with the `cursor` of the next; without a cursor an empty page that
   * marks the end. */
  list(query: Query = {}, options: CallOptions = {}): Promise<AccountEventList> {
    return this.#transport.call("listEvents", { query, holdSeconds: query.wait ?? 0, ...options });
  }

  /** The events from now on, or behind `cursor`; ends when the signal is aborted.
   *
   * Each has a cursor to continue from in another process: nothing is lost, but events of one page
   * may come again, with the same `id`. */
  async *follow(
    query: Pick<Query, "cursor" | "types" | "conversation"> = {},
    options: CallOptions = {},
  ): AsyncGenerator<AccountEvent & { cursor: string }, void> {
    const { retry } = this.#transport;
    let { cursor } = query;
    let { retries } = retry;
    for (;;) {
      const began = performance.now();
      const place = cursor === undefined ? {} : { cursor };
      const page = await this.#transport.call("listEvents", {
        query: { ...query, ...place, wait: HOLD_SECONDS },
        holdSeconds: HOLD_SECONDS,
        retries,
        ...options,
      });
      retries = retry.retriesWhileFollowing;
      const last = page.data.length - 1;
      for (const [n, event] of page.data.entries()) {
        yield { ...event, cursor: n === last ? page.cursor : (cursor ?? page.cursor) };
      }
      cursor = page.cursor;
      const isHasty = page.data.length === 0 && performance.now() - began < EMPTY_POLL_MS;
      if (isHasty) await sleep(EMPTY_POLL_MS, options.signal);
    }
  }
}
