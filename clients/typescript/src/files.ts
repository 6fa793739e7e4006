import type { OutputFile, OutputFileObject } from "./api.js";
import { ApiError } from "./errors.js";
import type { CallOptions, Transport } from "./transport.js";

/** Answers of links that have expired, or whose file was replaced. */
const STALE = new Set([403, 404, 410, 412]);

export class Files {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A file's facts with a fresh link. */
  get(fileId: string, options: CallOptions = {}): Promise<OutputFileObject> {
    return this.#transport.call("getFile", { path: { file_id: fileId }, ...options });
  }

  /** The file as a response whose body streams: `.blob()`, `.text()`, or in Node
   * `pipeline(response.body, createWriteStream(path))`. A stale link is renewed once. */
  async download(file: OutputFile | string, options: CallOptions = {}): Promise<Response> {
    const { retry } = this.#transport;
    let found = typeof file === "string" ? await this.get(file, options) : file;
    for (let attempt = 0; ; attempt++) {
      const { url } = found;
      try {
        return await this.#transport.tried("download", retry.retries, options.signal, async () => {
          const exchange = { ...options, isLeftOpen: true };
          // A link has no key that a redirect could take along.
          return this.#transport.send(url, { redirect: "follow" }, exchange, async (response) => {
            if (response.ok) return response;
            await response.body?.cancel();
            const message = `the link of ${found.file_id} answered ${response.status}`;
            throw new ApiError(response.status, { message }, response.headers);
          });
        });
      } catch (error) {
        const isStale = error instanceof ApiError && STALE.has(error.status);
        if (!isStale || attempt > 0) throw error;
        found = await this.get(found.file_id, options);
      }
    }
  }
}
