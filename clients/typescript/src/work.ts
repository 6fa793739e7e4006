import type { Work, WorkItem } from "./api.js";
import { WorkCalls } from "./calls.js";
import type { CallOptions, Transport } from "./transport.js";

export class WorkResource extends WorkCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /** The account's works, newest first, up to 50; with `before`, a `work_id`, older ones. */
  async list(
    options: CallOptions & { limit?: number; before?: string } = {},
  ): Promise<WorkItem[]> {
    const { signal, ...query } = options;
    return (await this.#transport.call("listWork", { query, signal })).data;
  }

  /** A work with a page of its text, from character `fromChar` on. */
  get(workId: string, options: CallOptions & { fromChar?: number } = {}): Promise<Work> {
    const query = options.fromChar === undefined ? {} : { from_char: options.fromChar };
    const path = { work_id: workId };
    return this.#transport.call("getWork", { path, query, signal: options.signal });
  }

  /** Stop what runs in a work. */
  stop(workId: string, options: CallOptions = {}): Promise<Work> {
    const path = { work_id: workId };
    return this.#transport.call("stopWork", { path, repeatable: true, ...options });
  }
}
