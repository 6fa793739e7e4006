/** Checking that a webhook request comes from the server and was not changed (Standard Webhooks). */

import type { WebhookEvent } from "./api.js";
import { WebhookRefusedError } from "./errors.js";

export interface UnwrapOptions {
  /** How old a request may be. Default 300 seconds. */
  toleranceSeconds?: number;
}

type GivenHeaders = Headers | Record<string, string | string[] | undefined>;

export { WebhookRefusedError };

const PREFIX = "whsec_";

/** The event of a webhook request. Give the raw body, as it came: JSON that was parsed and written
 * again has other bytes. Several secrets are tried while one is being replaced.
 *
 * Rejects with `WebhookRefusedError`: answer 400 then. An event may come more than once: keep the
 * `webhook-id` of those you handled.
 */
export async function unwrap(
  body: string | Uint8Array,
  headers: GivenHeaders,
  secret: string | readonly string[],
  options: UnwrapOptions = {},
): Promise<WebhookEvent> {
  const raw = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = header(headers, "webhook-signature");
  const tolerance = options.toleranceSeconds ?? 300;
  const age = Date.now() / 1000 - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(age) > tolerance) {
    throw new WebhookRefusedError("The request is too old or from the future; check the clocks.");
  }
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + raw.length);
  signed.set(start);
  signed.set(raw, start.length);
  const given = signatures.split(" ").filter((one) => one.startsWith("v1,"));
  for (const each of typeof secret === "string" ? [secret] : secret) {
    const key = await importKey(each);
    for (const one of given) {
      const bytes = decoded(one.slice("v1,".length));
      // `verify` compares in constant time.
      if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, signed))) {
        return JSON.parse(new TextDecoder().decode(raw)) as WebhookEvent;
      }
    }
  }
  throw new WebhookRefusedError("No signature of the request fits the secret.");
}

function header(headers: GivenHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== "string" || value === "") {
    throw new WebhookRefusedError(`The request has no ${name} header.`);
  }
  return value;
}

async function importKey(secret: string): Promise<CryptoKey> {
  const bytes = decoded(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (!bytes) throw new WebhookRefusedError("The secret is not one: it begins with whsec_.");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
