import type { Upload } from "./api.js";
import { lookAt, type Attachment, type Outgoing } from "./attachments.js";
import { UploadCalls } from "./calls.js";
import { ApiError } from "./errors.js";
import { form } from "./form.js";
import type { CallOptions, Transport } from "./transport.js";

/** Large files on their way to the agent. What `create` gives may go to a browser, which needs no key
 * for it (`uploadFile` of `agentpost-client/browser`). */
export class Uploads extends UploadCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /** Send a file ahead; its `upload_id` goes with one message. */
  async send(
    file: Exclude<Attachment, { url: string }>,
    options: CallOptions = {},
  ): Promise<Upload> {
    return this.post(await lookAt(file), options);
  }

  /** Create, post, complete. Each may be repeated: a second post replaces the first. */
  async post(outgoing: Outgoing, options: CallOptions = {}): Promise<Upload> {
    const { name, blob, contentType } = outgoing;
    const type = contentType ? { content_type: contentType } : {};
    const created = await this.create({ filename: name, size: blob.size, ...type }, options);
    const { retry } = this.#transport;
    await this.#transport.tried("postUpload", retry.retries, options.signal, async () => {
      const init = { method: "POST", body: form(created.fields, blob, name) };
      await this.#transport.send(created.url, init, options, async (response) => {
        const text = await response.text();
        if (!response.ok) throw new ApiError(response.status, { message: text }, response.headers);
      });
    });
    return this.complete(created.upload_id, options);
  }
}
