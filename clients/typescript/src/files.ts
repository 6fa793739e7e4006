import type { OutputFile } from "./api.js";
import { FileCalls } from "./calls.js";
import { ApiError, BadAnswerError } from "./errors.js";
import { save } from "./local_files.js";
import type { CallOptions, Transport } from "./transport.js";

/** Answers of links that have expired, or whose file was replaced. */
const STALE = new Set([403, 404, 410, 412]);

export class Files extends FileCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /** Save a file and give its path (Node.js, Bun, Deno).
   *
   * `into` is a folder, or the path of the file to write, which is replaced when all bytes are
   * there. A link that has expired is renewed once.
   */
  async download(
    file: OutputFile | string,
    into: string,
    options: CallOptions = {},
  ): Promise<string> {
    const record = typeof file === "string" ? await this.get(file, options) : file;
    const { body } = await this.open(record, options);
    if (!body) throw new BadAnswerError(`the link of ${record.file_id} has no contents`);
    return save(body, record.name, into);
  }

  /** All bytes of a file, in memory. */
  async read(file: OutputFile | string, options: CallOptions = {}): Promise<Uint8Array> {
    return new Uint8Array(await (await this.open(file, options)).arrayBuffer());
  }

  /** The file as a response whose body streams. A link that has expired is renewed once. */
  async open(file: OutputFile | string, options: CallOptions = {}): Promise<Response> {
    const { retry } = this.#transport;
    let record = typeof file === "string" ? await this.get(file, options) : file;
    for (let attempt = 0; ; attempt++) {
      const { url } = record;
      try {
        return await this.#transport.tried("download", retry.retries, options.signal, async () => {
          const exchange = { ...options, isLeftOpen: true };
          // A link has no key that a redirect could take along.
          return this.#transport.send(url, { redirect: "follow" }, exchange, async (response) => {
            if (response.ok) return response;
            await response.body?.cancel();
            const message = `the link of ${record.file_id} answered ${response.status}`;
            throw new ApiError(response.status, { message }, response.headers);
          });
        });
      } catch (error) {
        const isStale = error instanceof ApiError && STALE.has(error.status);
        if (!isStale || attempt > 0) throw error;
        record = await this.get(record.file_id, options);
      }
    }
  }
}
