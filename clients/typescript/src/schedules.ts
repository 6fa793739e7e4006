import type { Schedule } from "./api.js";
import { ScheduleCalls } from "./calls.js";
import { items } from "./pages.js";
import type { CallOptions, Transport } from "./transport.js";

/** Messages that are sent at a time, once or again and again. */
export class Schedules extends ScheduleCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /** All schedules, newest first; pages are fetched as they are needed. */
  list(options: CallOptions = {}): AsyncGenerator<Schedule, void> {
    return items(
      (query) => this.#transport.call("listSchedules", { query, ...options }),
      (last) => last.id,
    );
  }
}
