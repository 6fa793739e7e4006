import { Client, type ClientOptions } from "../src/index.js";

export interface Seen {
  method: string;
  url: string;
  headers: Headers;
  body: unknown;
}

type Step = Response | Error | ((seen: Seen, init?: RequestInit) => Response | Promise<Response>);

/** A client whose server gives these answers, one for each request. */
export function scripted(
  steps: Step[],
  options: ClientOptions = {},
): { client: Client; seen: Seen[]; redirects: unknown[] } {
  const seen: Seen[] = [];
  const redirects: unknown[] = [];
  const answering: typeof fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    const body = typeof init?.body === "string" ? (JSON.parse(init.body) as unknown) : init?.body;
    const request = {
      method: init?.method ?? "GET",
      url: String(input),
      headers: new Headers(init?.headers),
      body,
    };
    seen.push(request);
    redirects.push(init?.redirect);
    const step = steps.shift();
    if (step === undefined) throw new Error(`no answer is left for ${request.url}`);
    if (step instanceof Error) throw step;
    return typeof step === "function" ? step(request, init) : step;
  };
  const client = new Client({
    url: "http://agent.test/base/",
    key: "svc_key_secret",
    fetch: answering,
    retry: { baseMs: 0 },
    ...options,
  });
  return { client, seen, redirects };
}

export function answer(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

export function stream(body: string | ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}

export function refusal(status: number, code: string, more: object = {}, headers = {}): Response {
  const body = { error: code, message: "No.", request_id: "req_1", docs: "/docs", ...more };
  return answer(body, status, headers);
}

export function message(more: object = {}): object {
  return { id: "msg_1", status: "completed", reason: null, final: true, version: 1, ...more };
}
