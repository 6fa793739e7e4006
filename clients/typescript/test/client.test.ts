import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
  Client,
  ApiError,
  BadAnswerError,
  ConfigError,
  FileRefusedError,
  ConnectionError,
  TimeoutError,
  WaitTimeoutError,
  textOf,
  type Message,
  type RetryEvent,
} from "../src/index.js";
import { events } from "../src/event_stream.js";
import { answer, message, refusal, scripted, stream } from "./scripted.js";

const LOST = new TypeError("fetch failed");

test("a message is sent with the key, its fields and small files", async () => {
  const { client, seen } = scripted([answer(message(), 201)]);
  const sent = await client.messages.send("Chart it", {
    files: [{ name: "a.csv", data: "a,b\n", contentType: "text/csv" }, { url: "https://x.test/b" }],
    conversation: "ada",
    metadata: { order: "7" },
  });
  assert.equal(sent.id, "msg_1");
  const [request] = seen;
  assert.equal(request?.url, "http://agent.test/base/v1/messages");
  assert.equal(request?.headers.get("authorization"), "Bearer svc_key_secret");
  assert.deepEqual(request?.body, {
    message: "Chart it",
    files: [{ name: "a.csv", base64: "YSxiCg==", content_type: "text/csv" }, { url: "https://x.test/b" }],
    conversation: "ada",
    metadata: { order: "7" },
  });
});

test("the text to show is the question, else the jobs' results, else the reply", () => {
  const job = (text: string | null) => ({ text }) as Message["jobs"][number];
  const cases: [Partial<Message>, string | null][] = [
    [{ reply: "Hello." }, "Hello."],
    [{ reply: "On it.", jobs: [job(null)] }, "On it."],
    [{ reply: "On it.", jobs: [job("Done."), job(null), job("Sent.")] }, "Done.\n\nSent."],
    [{ reply: "On it.", jobs: [job("Done.")], question: "Which?" }, "Which?"],
    [{}, null],
  ];
  for (const [fields, text] of cases) {
    const read = message({ jobs: [], question: null, reply: null, ...fields }) as Message;
    assert.equal(textOf(read), text);
  }
});

test("every try has the same idempotency key, also after agent_busy", async () => {
  const busy = message({ status: "failed", reason: "agent_busy", retry_after_seconds: 0 });
  const steps = [LOST, refusal(503, "unavailable"), refusal(429, "rate_limited", {}, { "retry-after": "0" })];
  const { client, seen } = scripted([...steps, answer(busy), answer(message())]);
  await client.messages.send("Hello");
  const keys = seen.map((each) => each.headers.get("idempotency-key"));
  assert.equal(keys.length, 5);
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/);
});

test("a refusal is an error with its code, and is not sent again", async () => {
  const problems = [{ field: "files.0.url", problem: "is not https" }];
  const { client, seen } = scripted([refusal(400, "invalid_request", { problems })]);
  await assert.rejects(client.messages.send("x"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, error.status, error.requestId], ["invalid_request", 400, "req_1"]);
    assert.match(error.message, /files\.0\.url: is not https/);
    return true;
  });
  assert.equal(seen.length, 1);
});

test("an error without the server's body says its status", async () => {
  const page = new Response("<html>Bad gateway</html>", { status: 404, headers: { "request-id": "req_2" } });
  const { client } = scripted([page]);
  await assert.rejects(client.me(), { code: "http_404", requestId: "req_2" });
});

test("what creates something is not repeated by itself", async () => {
  const { client, seen } = scripted([LOST]);
  await assert.rejects(client.webhooks.create({ url: "https://x.test" }), ConnectionError);
  assert.equal(seen.length, 1);
});

test("a longer Retry-After than allowed is handed to the caller", async () => {
  const { client } = scripted([refusal(429, "rate_limited", {}, { "retry-after": "3600" })]);
  await assert.rejects(client.me(), { code: "rate_limited", retryAfterSeconds: 3600 });
});

test("each pause is told, without the key", async () => {
  const told: RetryEvent[] = [];
  const { client } = scripted([LOST, answer({ credits: 1 })], { onRetry: (event) => told.push(event) });
  await client.me();
  assert.deepEqual(told.map((each) => [each.operation, each.attempt]), [["getAccount", 1]]);
  assert.doesNotMatch(JSON.stringify(told) + String(told[0]?.error), /secret/);
});

test("a call that takes too long is a TimeoutError, an aborted one the caller's reason", async () => {
  const hang = (): Promise<Response> => new Promise((_, reject) => setTimeout(() => reject(new Error("cut")), 30));
  const slow = scripted([hang], { timeoutMs: 10, retry: { retries: 0 } });
  await assert.rejects(slow.client.me(), TimeoutError);
  const { client, seen } = scripted([]);
  const reason = new Error("the user left");
  await assert.rejects(client.me({ signal: AbortSignal.abort(reason) }), reason);
  assert.equal(seen.length, 0);
});

test("no redirect is followed with the key, in any runtime", async () => {
  const opaque = new Response(null); // as browsers give it
  Object.defineProperties(opaque, { type: { value: "opaqueredirect" }, status: { value: 0 } });
  const moved = new Response(null, { status: 307, headers: { location: "https://else.test/" } });
  for (const response of [opaque, moved]) {
    const { client, seen, redirects } = scripted([response]);
    await assert.rejects(client.me(), BadAnswerError);
    assert.deepEqual([seen.length, redirects], [1, ["manual"]]);
  }
});

test("what answers but is not this API is named", async () => {
  const page = (): Response => new Response("<html>", { headers: { "content-type": "text/html" } });
  const { client, seen } = scripted([page(), page()]);
  await assert.rejects(client.me(), BadAnswerError);
  await assert.rejects(client.messages.stream("msg_1").next(), BadAnswerError);
  assert.equal(seen.length, 2);
});

test("an error of fetch that is no lost connection stays what it is", async () => {
  const mistake = new Error("the test has no answer for this");
  const { client, seen } = scripted([mistake]);
  await assert.rejects(client.me(), mistake);
  assert.equal(seen.length, 1);
});

for (const [name, error, text] of [
  ["Node.js", new TypeError("fetch failed", { cause: new Error("self-signed certificate\n") }), /: self-signed certificate$/],
  ["Node.js with several addresses", new TypeError("fetch failed", { cause: { message: "", code: "ECONNREFUSED" } }), /ECONNREFUSED/],
  ["Deno", new TypeError("error sending request for url (http://agent.test/base/v1/me?sig=1): refused"), /url \(agent.test\): refused/],
  ["workerd", Object.assign(new Error("Network connection lost."), { retryable: true }), /connection lost/],
] as const) {
  test(`a lost connection is told and tried again: ${name}`, async () => {
    const { client, seen } = scripted([error, error], { retry: { baseMs: 0, retries: 1 } });
    await assert.rejects(client.me(), (thrown) => {
      assert.ok(thrown instanceof ConnectionError);
      assert.match(thrown.message, text);
      assert.doesNotMatch(thrown.message, /sig=/);
      return true;
    });
    assert.equal(seen.length, 2);
  });
}

test("a body that is late or breaks off, and one that the caller aborts", async () => {
  const silent = (init: RequestInit | undefined): Response =>
    new Response(
      new ReadableStream({
        start: (controller) => init?.signal?.addEventListener("abort", () => controller.error(new Error("cut"))),
      }),
    );
  const once = { retry: { retries: 0 } };
  const late = scripted([(_, init) => silent(init)], { timeoutMs: 20, ...once });
  await assert.rejects(late.client.me(), TimeoutError);
  const stopping = new AbortController();
  const reason = new Error("the user left");
  const aborted = scripted([(_, init) => silent(init)], once);
  setTimeout(() => stopping.abort(reason), 20);
  await assert.rejects(aborted.client.me({ signal: stopping.signal }), reason);
  const cut = scripted([new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("cut")) }))], once);
  await assert.rejects(cut.client.me(), /did not answer to the end: cut/);
});

test("a stream that falls silent is taken for lost", async () => {
  const silent = new ReadableStream<Uint8Array>({});
  await assert.rejects(events(silent, 20).next(), /fell silent/);
});

test("a fetch that was given is called as a function, and one is needed", async (context) => {
  function bound(this: unknown): Promise<Response> {
    assert.equal(this, undefined); // browsers and workerd refuse theirs as a method
    return Promise.resolve(answer({ credits: 1 }));
  }
  await new Client({ url: "http://a.test", key: "k", fetch: bound as typeof fetch }).me();
  const global = globalThis.fetch;
  context.after(() => (globalThis.fetch = global));
  Object.assign(globalThis, { fetch: undefined });
  assert.throws(() => new Client({ url: "http://a.test", key: "k" }), /no `fetch` here/);
});

test("any time can be allowed for a call", async () => {
  for (const timeoutMs of [2 ** 31, Infinity]) {
    const { client } = scripted([answer({ credits: 1 })], { timeoutMs });
    await client.me();
  }
  assert.throws(() => scripted([], { timeoutMs: 0 }), ConfigError);
  assert.throws(() => scripted([], { timeoutMs: NaN }), ConfigError);
});

test("the address and the key are taken as they are copied", async () => {
  for (const [url, asked] of [
    ["http://agent.test/base/v1/\n", "http://agent.test/base/v1/me"],
    [" http://[::1]:8080", "http://[::1]:8080/v1/me"],
    ["HTTPS://agent.test", "HTTPS://agent.test/v1/me"],
  ] as const) {
    const { client, seen } = scripted([answer({ credits: 1 })], { url, key: "svc_key_1\r\n" });
    await client.me();
    assert.deepEqual([seen[0]?.url, seen[0]?.headers.get("authorization")], [asked, "Bearer svc_key_1"]);
  }
  for (const url of ["http://", "http://user:hidden@a.test", "http://a.test?x=1", "http://a b", "http://a.test:99999"]) {
    assert.throws(() => scripted([], { url }), (error: Error) => {
      assert.ok(error instanceof ConfigError);
      assert.doesNotMatch(error.message, /hidden/);
      return true;
    });
  }
});

test("waiting holds calls until the message is final", async () => {
  const open = message({ status: "processing", final: false });
  const { client, seen } = scripted([answer(open), answer({ ...open, version: 2 }), LOST, answer(message())]);
  const done = await client.messages.wait("msg_1");
  assert.equal(done.final, true);
  assert.deepEqual(seen.map((each) => new URL(each.url).search), ["", "?wait=45", "?wait=45", "?wait=45"]);
});

test("waiting gives up in time with the message as it was", async () => {
  const { client } = scripted([answer(message({ final: false, status: "processing" }))]);
  await assert.rejects(client.messages.wait("msg_1", { timeoutMs: 0 }), (error) => {
    assert.ok(error instanceof WaitTimeoutError);
    return error.lastSeen.status === "processing";
  });
});

test("following continues from the cursor and repeats nothing", async () => {
  const entry = (seq: number): string => `id: c${seq}\nevent: entry\ndata: {"seq":${seq},"type":"progress"}\n\n`;
  const { client, seen } = scripted([
    stream(entry(1) + 'event: delta\ndata: {"text":"Hel","offset":0}\n\n' + entry(2)),
    LOST,
    stream(entry(2) + entry(3) + "event: end\ndata: {}\n\n"),
    stream(entry(1) + entry(2) + "event: end\ndata: {}\n\n"),
  ]);
  const read: Array<[number, string | undefined]> = [];
  for await (const each of client.follow("msg_1")) read.push([each.seq, each.cursor]);
  assert.deepEqual(read, [[1, "c1"], [2, "c2"], [3, "c3"]]);
  assert.equal(seen.at(-1)?.headers.get("last-event-id"), "c2");
  for await (const each of client.follow("msg_1", { after: 1 })) read.push([each.seq, each.cursor]);
  assert.deepEqual(read.slice(3), [[2, "c2"]]);
});

test("a file that cannot be sent is named", async (context) => {
  const { client } = scripted([]);
  const wrong = (files: unknown): Promise<unknown> => client.send("", { files: files as [] });
  await assert.rejects(wrong("sales.csv"), /files must be an array, such as \['sales.csv'\]/);
  await assert.rejects(wrong([{ path: "sales.csv" }]), /a file must be a path, .*, not \{ path \}/);
  await assert.rejects(wrong([undefined]), FileRefusedError);
  await assert.rejects(wrong(["none.csv"]), /cannot read the file none.csv: ENOENT/);
  await assert.rejects(wrong(["."]), /it is a folder/);
  context.mock.method(process, "getBuiltinModule", () => undefined);
  await assert.rejects(wrong(["sales.csv"]), /need Node.js 20.16, Bun or Deno/);
});

test("a download appears when it is whole", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agentpost-"));
  const file = { file_id: "wrk_1/a/b.txt", name: "b.txt", url: "http://files.test/b.txt?sig=1" };
  type Output = Exclude<Parameters<typeof client.download>[0], string>;
  const broken = new ReadableStream({ start: (body) => body.error(new Error("broken")) });
  const { client } = scripted([new Response("one"), new Response("two"), new Response(broken)]);
  assert.equal(await client.download(file as Output, folder), `${folder}/b.txt`);
  assert.equal(await client.download(file as Output, `${folder}/c.txt`), `${folder}/c.txt`);
  await assert.rejects(client.download(file as Output, folder));
  assert.deepEqual(await readdir(folder), ["b.txt", "c.txt"]);
  assert.equal(await readFile(`${folder}/b.txt`, "utf8"), "one");
});

test("ids go into the path as they are meant", async () => {
  const { client, seen } = scripted([answer({}), answer({})]);
  await client.files.get("wrk_1/charts/a b#1.png");
  assert.equal(seen[0]?.url, "http://agent.test/base/v1/files/wrk_1/charts/a%20b%231.png");
  for (const id of ["", "..", "a/../b", "."]) await assert.rejects(client.files.get(id), ConfigError);
  await assert.rejects(client.messages.get("msg_1/recover"), ConfigError);
});

test("a stale link is renewed once, and the key goes to no link", async () => {
  const file = { file_id: "wrk_1/a.png", url: "http://files.test/new?sig=2" };
  const { client, seen } = scripted([new Response("", { status: 412 }), answer(file), new Response("PNG")]);
  const old = { ...file, url: "http://files.test/old?sig=1" } as Parameters<typeof client.files.read>[0];
  assert.deepEqual(await client.files.read(old), new TextEncoder().encode("PNG"));
  assert.deepEqual(seen.map((each) => each.headers.has("authorization")), [false, true, false]);
});

test("large files are uploaded first", async () => {
  const created = { upload_id: "up_1", url: "http://up.test/", fields: { key: "k", policy: "p" } };
  const steps = [answer(created, 201), new Response(null, { status: 204 }), answer({ upload_id: "up_1" }), answer(message(), 201)];
  const { client, seen } = scripted(steps);
  await client.messages.send("", { files: [{ name: "big.bin", data: new Uint8Array(1_000_001) }] });
  const form = seen[1]?.body;
  assert.ok(form instanceof FormData);
  assert.deepEqual([...form.keys()], ["key", "policy", "file"]);
  assert.equal(seen[1]?.headers.has("authorization"), false);
  assert.deepEqual(seen[3]?.body, { upload_ids: ["up_1"] });
});

test("a client without an address or a key says what to do", (context) => {
  const { AGENTPOST_URL, AGENTPOST_KEY, ...others } = process.env;
  const given = process.env;
  context.after(() => (process.env = given));
  process.env = others;
  assert.throws(() => new Client({ url: "http://a.test" }), /AGENTPOST_KEY/);
  assert.throws(() => new Client({ key: "k" }), /AGENTPOST_URL/);
  assert.throws(() => new Client({ url: "agent.test", key: "k" }), /not an http address/);
  assert.throws(() => new Client({ url: "http://a.test", key: "a\nb" }), ConfigError);
});

test("idempotency keys that the server would change are refused", async () => {
  const { client } = scripted([]);
  for (const idempotencyKey of [" a", "", "é", "x".repeat(129)]) {
    await assert.rejects(client.messages.send("x", { idempotencyKey }), ConfigError);
  }
});

test("a stream goes on behind its last entry and tells text that is being written", async () => {
  const first = ["id: c0\n\n", ": \n\n", 'event: delta\ndata: {"text":"Hel","offset":0}\n\n'];
  const entry = (seq: number): string => `id: c${seq}\nevent: progress\ndata: {"seq":${seq},"type":"progress"}\n\n`;
  const cut = new ReadableStream<Uint8Array>({
    start(controller) {
      const text = [...first, entry(1)].join("");
      // In pieces that end anywhere.
      for (let at = 0; at < text.length; at += 7) {
        controller.enqueue(new TextEncoder().encode(text.slice(at, at + 7)));
      }
    },
    pull(controller) {
      controller.error(new Error("cut"));
    },
  });
  const rest = `event: reset\ndata: {}\n\n${entry(2)}event: end\ndata: {}\n\n`;
  const { client, seen } = scripted([stream(cut), stream(rest.replaceAll("\n", "\r\n"))]);
  const told: unknown[] = [];
  for await (const each of client.messages.stream("msg_1")) {
    told.push(each.type === "entry" ? [each.entry.seq, each.entry.cursor] : each.type);
  }
  assert.deepEqual(told, ["delta", [1, "c1"], "reset", [2, "c2"]]);
  assert.deepEqual(seen.map((each) => each.headers.get("last-event-id")), [null, "c1"]);
  assert.equal(seen[0]?.headers.get("accept"), "text/event-stream");
});

test("a message is sent and read along, again while the agent is busy", async () => {
  const open = answer(message({ status: "processing", final: false }), 201);
  const busy = answer(message({ status: "failed", reason: "agent_busy", retry_after_seconds: 0 }));
  const entry = (seq: number, type: string): string =>
    `id: c${seq}\nevent: ${type}\ndata: {"seq":${seq},"type":"${type}"}\n\n`;
  const end = "event: end\ndata: {}\n\n";
  const steps = [
    ...[LOST, open, stream(entry(1, "turn_busy") + end), busy],
    answer(message({ status: "processing", final: false })),
    stream('event: delta\ndata: {"text":"Hel","offset":0}\n\n'),
    stream(`event: reset\ndata: {}\n\n${entry(2, "agent_reply")}${end}`),
    answer(message({ reply: "Hello" })),
  ];
  const { client, seen } = scripted(steps, { retry: { baseMs: 0 } });
  const told: unknown[] = [];
  for await (const each of client.messages.sendAndStream("Hi", { conversation: "c" })) {
    if (each.type === "message") told.push([each.message.final, each.message.reply ?? null]);
    else told.push(each.type === "entry" ? each.entry.seq : each.type);
  }
  assert.deepEqual(told, [[false, null], 1, [false, null], "delta", "reset", 2, [true, "Hello"]]);
  const posts = seen.filter((each) => each.method === "POST");
  assert.deepEqual(posts.map((each) => new URL(each.url).search), ["?wait=0", "?wait=0", "?wait=0"]);
  assert.equal(new Set(posts.map((each) => each.headers.get("idempotency-key"))).size, 1);
  const streams = seen.filter((each) => each.url.endsWith("/stream"));
  assert.deepEqual(streams.map((each) => each.headers.get("last-event-id")), [null, "c1", "c1"]);
});

test("a stream of no message is refused at once", async () => {
  const { client } = scripted([refusal(404, "not_found")]);
  await assert.rejects(client.messages.stream("msg_1").next(), { code: "not_found" });
});

test("lists fetch their pages as they are needed", async () => {
  const page = (ids: string[], has_more: boolean): Response =>
    answer({ data: ids.map((id) => ({ id })), has_more });
  const { client, seen } = scripted([page(["msg_3", "msg_2"], true), page(["msg_1"], false)]);
  const found: string[] = [];
  for await (const each of client.messages.list({ status: "completed", metadata: { order: "7" } })) {
    found.push(each.id);
  }
  assert.deepEqual(found, ["msg_3", "msg_2", "msg_1"]);
  const queries = seen.map((each) => Object.fromEntries(new URL(each.url).searchParams));
  assert.deepEqual(queries, [
    { status: "completed", "metadata[order]": "7" },
    { status: "completed", "metadata[order]": "7", before: "msg_2" },
  ]);
});

test("account events go on from the cursor", async () => {
  const page = (cursor: string, ids: string[]): Response =>
    answer({ data: ids.map((id) => ({ id })), cursor, has_more: false });
  const { client, seen } = scripted([page("c1", ["evt_1"]), LOST, page("c2", ["evt_2"])]);
  const found: string[] = [];
  for await (const event of client.events.follow({ types: "message.completed" })) {
    found.push(`${event.id} ${event.cursor}`);
    if (found.length === 2) break;
  }
  assert.deepEqual(found, ["evt_1 c1", "evt_2 c2"]);
  assert.equal(new URL(seen.at(-1)?.url ?? "").search, "?types=message.completed&cursor=c1&wait=45");
});

test("a message that may not wait is not sent again", async () => {
  const busy = answer(message({ status: "failed", reason: "agent_busy" }));
  const { client, seen } = scripted([busy]);
  const sent = await client.messages.send("x", { busy: "fail", maxCredits: 5 });
  assert.equal(sent.reason, "agent_busy");
  assert.deepEqual(seen[0]?.body, { message: "x", busy: "fail", max_credits: 5 });
});
