// What is one request of the API each. Made by docs/client_methods.py from the server's table.

import type {
  DeletedEndpoint,
  DeletedSchedule,
  Delivery,
  DeliveryList,
  Endpoint,
  EndpointChangeInput,
  EndpointInput,
  EndpointWithDeliveries,
  LoggedRequestDetails,
  Message,
  MessageDeleted,
  NewEndpoint,
  Operations,
  OutputFileObject,
  RecoverInput,
  Recovery,
  Replay,
  ReplayInput,
  RotateInput,
  RotatedSecret,
  Schedule,
  ScheduleChangeInput,
  ScheduleInput,
  TestInput,
  Upload,
  UploadCreated,
  UploadInput,
  WorkDeleted,
} from "./api.js";
import type { CallOptions, Transport } from "./transport.js";

/** Of `client.messages`. */
export class MessageCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Watch a message's expired work again. Work that did not report back in time has expired for
   * its message, but may continue. This call checks again and returns a result that came late. No
   * work is started, and the message is not sent again. With `max_credits`, work that is parked
   * because the message may use no more credits continues as far as they reach. Needs a key with
   * the scope `send`.
   */
  recover(messageId: string, body?: RecoverInput, options: CallOptions = {}): Promise<Recovery> {
    const call = { path: { message_id: messageId }, body, repeatable: true, ...options };
    return this.#transport.call("recoverMessage", call);
  }

  /**
   * Stop everything that still runs for a message. The agent's turn ends, and so does every job of
   * the message that runs or waits, with the files it has made so far; also a job that the message
   * only joined. The message is final then. A message for which nothing runs stays as it is. Needs
   * a key with the scope `send`.
   */
  cancel(messageId: string, options: CallOptions = {}): Promise<Message> {
    const call = { path: { message_id: messageId }, repeatable: true, ...options };
    return this.#transport.call("cancelMessage", call);
  }

  /**
   * Delete a final message. It cannot be undone. The message, its log, its events and what came
   * with it are deleted, as at the end of its retention; works and their files stay. It answers
   * 404 from then on. Needs a key with the scope `admin`.
   */
  delete(messageId: string, options: CallOptions = {}): Promise<MessageDeleted> {
    const call = { path: { message_id: messageId }, ...options };
    return this.#transport.call("deleteMessage", call);
  }
}

/** Of `client.uploads`. */
export class UploadCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Announce a large file. The first of three steps. Then post the file as `multipart/form-data`
   * to `url`, with every one of `fields` as a form field and the file last, as the field `file`,
   * before `expires_at`. Then call `uploads.complete`; from then on a message can name the upload.
   * Needs a key with the scope `send`.
   */
  create(body: UploadInput, options: CallOptions = {}): Promise<UploadCreated> {
    const call = { body, repeatable: true, ...options };
    return this.#transport.call("createUpload", call);
  }

  /**
   * Check a posted file and make it ready for a message. Checks the real size and refuses
   * programs. An upload that no message attaches within a day is deleted. A repeated call gives
   * the same answer. Needs a key with the scope `send`.
   */
  complete(uploadId: string, options: CallOptions = {}): Promise<Upload> {
    const call = { path: { upload_id: uploadId }, repeatable: true, ...options };
    return this.#transport.call("completeUpload", call);
  }
}

/** Of `client.work`. */
export class WorkCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Stop what runs in a work and delete it with its files. It cannot be undone. The work and its
   * files answer 404 from then on. Needs a key with the scope `admin`.
   */
  delete(workId: string, options: CallOptions = {}): Promise<WorkDeleted> {
    const call = { path: { work_id: workId }, ...options };
    return this.#transport.call("deleteWork", call);
  }
}

/** Of `client.files`. */
export class FileCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Read a file's facts and a fresh download link. For a link that has expired, or that answered
   * 412 because the file was replaced since. `file_id` goes into the path as it is, slashes
   * included. Needs a key with the scope `read`.
   */
  get(fileId: string, options: CallOptions = {}): Promise<OutputFileObject> {
    const call = { path: { file_id: fileId }, ...options };
    return this.#transport.call("getFile", call);
  }
}

/** Of `client.requests`. */
export class RequestCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Read a request with its bodies. Bodies are kept without secrets, long ones in part.
   * `request_id` is what the answer had as `Request-Id`; a request is there about a second after
   * it ended. Needs a key with the scope `read`.
   */
  get(requestId: string, options: CallOptions = {}): Promise<LoggedRequestDetails> {
    const call = { path: { request_id: requestId }, ...options };
    return this.#transport.call("getRequest", call);
  }
}

/** Of `client.schedules`. */
export class ScheduleCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Send a message at given times. With `cron` again and again, in a `timezone`; with `at` once.
   * Each run sends an ordinary message of this key, once. It counts toward the limits of messages;
   * one that is refused is not sent again, and `last_run` says why. Needs a key with the scope
   * `send`. When its answer is lost, it is not sent again by itself.
   */
  create(body: ScheduleInput, options: CallOptions = {}): Promise<Schedule> {
    const call = { body, ...options };
    return this.#transport.call("createSchedule", call);
  }

  /**
   * Read a schedule. The schedule with its next and its last run. Needs a key with the scope
   * `read`.
   */
  get(scheduleId: string, options: CallOptions = {}): Promise<Schedule> {
    const call = { path: { schedule_id: scheduleId }, ...options };
    return this.#transport.call("getSchedule", call);
  }

  /**
   * Pause or continue a schedule. Times that pass while it is paused are not missed runs. Needs a
   * key with the scope `send`.
   */
  update(
    scheduleId: string,
    body: ScheduleChangeInput,
    options: CallOptions = {},
  ): Promise<Schedule> {
    const call = { path: { schedule_id: scheduleId }, body, ...options };
    return this.#transport.call("updateSchedule", call);
  }

  /** Delete a schedule. The messages that it has sent stay. Needs a key with the scope `send`. */
  delete(scheduleId: string, options: CallOptions = {}): Promise<DeletedSchedule> {
    const call = { path: { schedule_id: scheduleId }, ...options };
    return this.#transport.call("deleteSchedule", call);
  }
}

/** Of `client.webhooks`. */
export class WebhookCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Register a webhook endpoint. The endpoint receives signed events from now on, those of
   * `events` or all. Keep its `secret`: it verifies the signatures and is shown this once. Each
   * call creates another endpoint. Needs a key with the scope `admin`. When its answer is lost, it
   * is not sent again by itself.
   */
  create(body: EndpointInput, options: CallOptions = {}): Promise<NewEndpoint> {
    const call = { body, ...options };
    return this.#transport.call("createWebhookEndpoint", call);
  }

  /**
   * Read a webhook endpoint and its newest deliveries. With the 20 newest deliveries and what the
   * receiver answered to each. Needs a key with the scope `admin`.
   */
  get(endpointId: string, options: CallOptions = {}): Promise<EndpointWithDeliveries> {
    const call = { path: { endpoint_id: endpointId }, ...options };
    return this.#transport.call("getWebhookEndpoint", call);
  }

  /**
   * Change a webhook endpoint, disable or enable it. Only the fields that are given change.
   * Turning an endpoint off drops what is pending for it; turning it on forgets its failures.
   * Needs a key with the scope `admin`.
   */
  update(
    endpointId: string,
    body: EndpointChangeInput,
    options: CallOptions = {},
  ): Promise<Endpoint> {
    const call = { path: { endpoint_id: endpointId }, body, ...options };
    return this.#transport.call("updateWebhookEndpoint", call);
  }

  /**
   * Remove a webhook endpoint. Deliveries that are pending are cancelled. A second call answers
   * 404. Needs a key with the scope `admin`.
   */
  delete(endpointId: string, options: CallOptions = {}): Promise<DeletedEndpoint> {
    const call = { path: { endpoint_id: endpointId }, ...options };
    return this.#transport.call("deleteWebhookEndpoint", call);
  }

  /**
   * Replace the secret of a webhook endpoint. The new `secret` is shown this once and signs every
   * later delivery, retries of older events too. With `grace_seconds` the old one signs beside it
   * for a while, so that receivers can be changed without losing an event. Needs a key with the
   * scope `admin`. When its answer is lost, it is not sent again by itself.
   */
  rotateSecret(
    endpointId: string,
    body?: RotateInput,
    options: CallOptions = {},
  ): Promise<RotatedSecret> {
    const call = { path: { endpoint_id: endpointId }, body, ...options };
    return this.#transport.call("rotateWebhookSecret", call);
  }

  /**
   * Send a test event. The endpoint gets a `webhook.test` event, subscribed to it or not; with
   * `event` a sample of that one, signed like the real ones. A sample says `test: true`, its ids
   * end in zeros and nothing in it exists. Needs a key with the scope `admin`. When its answer is
   * lost, it is not sent again by itself.
   */
  test(endpointId: string, body?: TestInput, options: CallOptions = {}): Promise<Delivery> {
    const call = { path: { endpoint_id: endpointId }, body, ...options };
    return this.#transport.call("testWebhookEndpoint", call);
  }

  /**
   * List the deliveries of a webhook endpoint. Newest first, each with a log of its attempts.
   * While `has_more`, continue with `before`: the last one's `id`. Needs a key with the scope
   * `admin`.
   */
  deliveries(
    endpointId: string,
    query: Operations["listWebhookDeliveries"]["query"] = {},
    options: CallOptions = {},
  ): Promise<DeliveryList> {
    const call = { path: { endpoint_id: endpointId }, query, ...options };
    return this.#transport.call("listWebhookDeliveries", call);
  }

  /**
   * Send a delivery again. At once, with the same `webhook-id`, whether it was delivered before or
   * not. Needs a key with the scope `admin`. When its answer is lost, it is not sent again by
   * itself.
   */
  redeliver(endpointId: string, eventId: string, options: CallOptions = {}): Promise<Delivery> {
    const call = { path: { endpoint_id: endpointId, event_id: eventId }, ...options };
    return this.#transport.call("redeliverWebhookEvent", call);
  }

  /**
   * Send the deliveries of a time range again. All of them that have ended, dropped ones included,
   * or only those of `status`. For receivers that were down for longer than deliveries are
   * retried. Needs a key with the scope `admin`. When its answer is lost, it is not sent again by
   * itself.
   */
  replay(endpointId: string, body: ReplayInput, options: CallOptions = {}): Promise<Replay> {
    const call = { path: { endpoint_id: endpointId }, body, ...options };
    return this.#transport.call("replayWebhookEvents", call);
  }
}
