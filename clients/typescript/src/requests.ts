import type { LoggedRequest, LoggedRequestList, Operations } from "./api.js";
import { RequestCalls } from "./calls.js";
import { items } from "./pages.js";
import type { CallOptions, Transport } from "./transport.js";

type Query = Operations["listRequests"]["query"];

/** The request log: what was asked of the API and what it answered. */
export class Requests extends RequestCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /** The requests that fit, newest first; pages are fetched as they are needed. */
  list(
    query: Omit<Query, "cursor" | "wait" | "before"> = {},
    options: CallOptions = {},
  ): AsyncGenerator<LoggedRequest, void> {
    return items(
      (before) =>
        this.#transport.call("listRequests", { query: { ...query, ...before }, ...options }),
      (last) => last.id,
    );
  }

  /** One page; with the `cursor` of a page the requests that ended since, oldest first. */
  page(query: Query = {}, options: CallOptions = {}): Promise<LoggedRequestList> {
    return this.#transport.call("listRequests", {
      query,
      holdSeconds: query.wait ?? 0,
      ...options,
    });
  }
}
