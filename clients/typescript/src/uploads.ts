import type { Upload, UploadCreated, UploadInput } from "./api.js";
import { lookAt, type Attachment, type Outgoing } from "./attachments.js";
import { ApiError } from "./errors.js";
import { form } from "./form.js";
import type { CallOptions, Transport } from "./transport.js";

export class Uploads {
  readonly #transport: Transport;

  constructor(transport: Transport) {
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

  /** Where a file is to be posted: give the answer to a browser, which needs no key for it
   * (`uploadFile` of `agentpost-client/browser`). */
  create(body: UploadInput, options: CallOptions = {}): Promise<UploadCreated> {
    return this.#transport.call("createUpload", { body, repeatable: true, ...options });
  }

  /** Check a posted file; its upload is ready then. */
  complete(uploadId: string, options: CallOptions = {}): Promise<Upload> {
    const path = { upload_id: uploadId };
    return this.#transport.call("completeUpload", { path, repeatable: true, ...options });
  }
}
