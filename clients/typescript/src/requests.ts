import type { LoggedRequest, LoggedRequestDetails, LoggedRequestList, Operations } from "./api.js";
import { items } from "./pages.js";
import type { CallOptions, Transport } from "./transport.js";

type Query = Operations["listRequests"]["query"];

/** The request log: what was asked of the API and what it answered. */
export class Requests {
  readonly #transport: Transport;

  constructor(transport: Transport) {
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

  /** A request with its bodies, as far as they are kept. */
  get(requestId: string, options: CallOptions = {}): Promise<LoggedRequestDetails> {
    return this.#transport.call("getRequest", { path: { request_id: requestId }, ...options });
  }
}
