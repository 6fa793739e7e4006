/** Checking that a webhook request comes from the server and was not changed (Standard Webhooks). */

import type { WebhookEvent } from "./api.js";
import { ConfigError, WebhookRefusedError } from "./errors.js";

export interface UnwrapOptions {
  /** How old a request may be. Default 300 seconds. */
  toleranceSeconds?: number;
}

/** The headers of a request as a framework has them, with names in any case: those of `fetch`, pairs,
 * a `Map`, an object with texts or lists (Node.js' `headers`, AWS Lambda's `multiValueHeaders`), or
 * Node.js' `rawHeaders`. */
export type WebhookHeaders =
  | Iterable<readonly [string, string | readonly string[]]>
  | readonly string[]
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | Headers;

export { ConfigError, WebhookRefusedError };

const PREFIX = "whsec_";

/** The event of a webhook request. Give the raw body, as it came: JSON that was parsed and written
 * again has other bytes. Several secrets are tried while one is being replaced.
 *
 * Rejects with `WebhookRefusedError`: answer 400 then. Rejects with `ConfigError` for a secret that is
 * none, and with `TypeError` for a body that was parsed and for what are no headers. An event may come
 * more than once: keep the `webhook-id` of those you handled.
 */
export async function unwrap(
  body: string | ArrayBuffer | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: UnwrapOptions = {},
): Promise<WebhookEvent> {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (secrets.length === 0) throw new ConfigError("Give the secret of the webhook endpoint.");
  const keys = await Promise.all(secrets.map(importKey));
  const raw = rawBytes(body);
  const pairs = [...headerPairs(headers)];
  const id = header(pairs, "webhook-id");
  const timestamp = header(pairs, "webhook-timestamp");
  const signatures = header(pairs, "webhook-signature");
  const tolerance = options.toleranceSeconds ?? 300;
  const age = Date.now() / 1000 - Number(timestamp);
  if (!/^\d+$/.test(timestamp)) {
    throw new WebhookRefusedError("The header webhook-timestamp is no number of seconds.");
  }
  if (Math.abs(age) > tolerance) {
    throw new WebhookRefusedError("The request is too old or from the future; check the clocks.");
  }
  const start = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(start.length + raw.length);
  signed.set(start);
  signed.set(raw, start.length);
  const given = signatures.split(" ").filter((one) => one.startsWith("v1,"));
  for (const key of keys) {
    for (const one of given) {
      const bytes = decoded(one.slice("v1,".length));
      // `verify` compares in constant time.
      if (bytes && (await crypto.subtle.verify("HMAC", key, bytes, signed))) {
        return JSON.parse(new TextDecoder().decode(raw)) as WebhookEvent;
      }
    }
  }
  throw new WebhookRefusedError(
    "No signature of the request fits: it was signed with another secret, or its body was changed on " +
      "the way (give it as it came).",
  );
}

function rawBytes(body: string | ArrayBuffer | Uint8Array): Uint8Array {
  if (typeof body === "string") return new TextEncoder().encode(body);
  // Not by their classes: those of other realms (Jest, edge runtimes) are others.
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body);
  throw new TypeError("Give the body as it came, as text or bytes: parsed JSON has other bytes.");
}

function* headerPairs(headers: WebhookHeaders): Iterable<readonly [string, unknown]> {
  const isObject = typeof headers === "object" && headers !== null;
  if (Array.isArray(headers) && headers.every((each) => typeof each === "string")) {
    for (let at = 0; at + 1 < headers.length; at += 2) yield [headers[at] ?? "", headers[at + 1]];
  } else if (isObject && Symbol.iterator in headers) {
    yield* headers as Iterable<readonly [string, unknown]>;
  } else if (isObject) {
    yield* Object.entries(headers);
  } else {
    throw new TypeError("Give the headers of the request: `Headers`, pairs, or an object.");
  }
}

/** All values of a header, with a blank between, as signatures are written. */
function header(pairs: Array<readonly [string, unknown]>, name: string): string {
  const value = pairs
    .filter(([each]) => each.toLowerCase() === name)
    .flatMap(([, each]) => each ?? [])
    .join(" ");
  if (value !== "") return value;
  throw new WebhookRefusedError(
    `The headers have no ${name}: the request is no signed webhook, or something on the way left it out.`,
  );
}

async function importKey(secret: string): Promise<CryptoKey> {
  const text = secret.trim();
  const bytes = decoded(text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text);
  if (!bytes?.length) throw new ConfigError(`The webhook secret is none: it begins with ${PREFIX}.`);
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
