export type * from "./api.js";
export type { Attachment } from "./attachments.js";
export { Client } from "./client.js";
export * from "./errors.js";
export type {
  FollowedEntry,
  FollowOptions,
  MessageFilter,
  SendOptions,
  Sent,
  Streamed,
  WaitOptions,
} from "./messages.js";
export type { RetryPolicy } from "./retries.js";
export { textOf } from "./text.js";
export type { CallOptions, ClientOptions, RetryEvent } from "./transport.js";
export { VERSION } from "./version.js";
export { unwrap, type UnwrapOptions, type WebhookHeaders } from "./webhooks.js";
