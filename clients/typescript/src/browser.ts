/** What runs in a browser: sending a file to an upload's address. It needs no key: your own server
 * creates the upload, completes it and sends the message. */

import type { UploadCreated } from "./api.js";
import { AgentpostError, ConnectionError } from "./errors.js";
import { form } from "./form.js";

export interface UploadFileOptions {
  signal?: AbortSignal;
  /** Called with the bytes sent and the bytes to send. */
  onProgress?: (sent: number, total: number) => void;
}

/** Post a file to the address an upload was created with (`client.uploads.create`).
 *
 * Resolves when the server has the file. Rejects with `ConnectionError` when it cannot be reached,
 * `AgentpostError` when it refuses the file, and the signal's reason when it is aborted.
 */
export function uploadFile(
  upload: Pick<UploadCreated, "url" | "fields">,
  file: File,
  options: UploadFileOptions = {},
): Promise<void> {
  const { signal, onProgress } = options;
  // `fetch` cannot tell how much it has sent.
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const request = new XMLHttpRequest();
    const stop = (): void => request.abort();
    signal?.addEventListener("abort", stop, { once: true });
    request.upload.onprogress = (event) => onProgress?.(event.loaded, event.total);
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve();
      else reject(new AgentpostError(`The file was refused (${request.status}): ${request.responseText}`));
    };
    request.onerror = () => reject(new ConnectionError("The server cannot be reached."));
    request.onabort = () => reject(signal?.reason as Error);
    request.onloadend = () => signal?.removeEventListener("abort", stop);
    request.open("POST", upload.url);
    request.send(form(upload.fields, file, file.name));
  });
}
