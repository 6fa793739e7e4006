import type {
  DeletedEndpoint,
  Delivery,
  DeliveryList,
  Endpoint,
  EndpointChangeInput,
  EndpointInput,
  EndpointWithDeliveries,
  NewEndpoint,
  Operations,
  Replay,
  ReplayInput,
  RotatedSecret,
  RotateInput,
  TestInput,
} from "./api.js";
import type { CallOptions, Transport } from "./transport.js";

export class WebhookEndpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async list(options: CallOptions = {}): Promise<Endpoint[]> {
    return (await this.#transport.call("listWebhookEndpoints", options)).data;
  }

  /** The answer alone has the secret. Not repeated by itself: each call makes an endpoint. */
  create(body: EndpointInput, options: CallOptions = {}): Promise<NewEndpoint> {
    return this.#transport.call("createWebhookEndpoint", { body, ...options });
  }

  get(endpointId: string, options: CallOptions = {}): Promise<EndpointWithDeliveries> {
    const path = { endpoint_id: endpointId };
    return this.#transport.call("getWebhookEndpoint", { path, ...options });
  }

  /** Change the fields that are given; `enabled: true` turns a failed endpoint on again. */
  update(
    endpointId: string,
    body: EndpointChangeInput,
    options: CallOptions = {},
  ): Promise<Endpoint> {
    const path = { endpoint_id: endpointId };
    return this.#transport.call("updateWebhookEndpoint", { path, body, ...options });
  }

  delete(endpointId: string, options: CallOptions = {}): Promise<DeletedEndpoint> {
    const path = { endpoint_id: endpointId };
    return this.#transport.call("deleteWebhookEndpoint", { path, ...options });
  }

  /** The answer alone has the new secret. Not repeated by itself. */
  rotateSecret(
    endpointId: string,
    body?: RotateInput,
    options: CallOptions = {},
  ): Promise<RotatedSecret> {
    const path = { endpoint_id: endpointId };
    return this.#transport.call("rotateWebhookSecret", { path, body, ...options });
  }

  /** Send an event `webhook.test`, or a sample of the `event` that the body names. */
  test(endpointId: string, body?: TestInput, options: CallOptions = {}): Promise<Delivery> {
    const path = { endpoint_id: endpointId };
    return this.#transport.call("testWebhookEndpoint", { path, body, ...options });
  }

  /** A page of deliveries, newest first; `before` is the id of the last one of the page before. */
  deliveries(
    endpointId: string,
    query: Operations["listWebhookDeliveries"]["query"] = {},
    options: CallOptions = {},
  ): Promise<DeliveryList> {
    const path = { endpoint_id: endpointId };
    return this.#transport.call("listWebhookDeliveries", { path, query, ...options });
  }

  /** Send one event again. */
  redeliver(endpointId: string, eventId: string, options: CallOptions = {}): Promise<Delivery> {
    const path = { endpoint_id: endpointId, event_id: eventId };
    return this.#transport.call("redeliverWebhookEvent", { path, ...options });
  }

  /** Send the events of a time range again. */
  replay(endpointId: string, body: ReplayInput, options: CallOptions = {}): Promise<Replay> {
    const path = { endpoint_id: endpointId };
    return this.#transport.call("replayWebhookEvents", { path, body, ...options });
  }
}
