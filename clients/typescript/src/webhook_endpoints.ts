import type { Endpoint } from "./api.js";
import { WebhookCalls } from "./calls.js";
import type { CallOptions, Transport } from "./transport.js";

export class WebhookEndpoints extends WebhookCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  async list(options: CallOptions = {}): Promise<Endpoint[]> {
    return (await this.#transport.call("listWebhookEndpoints", options)).data;
  }
}
