/** Against a real server with the built-in agent: AGENTPOST_URL and AGENTPOST_KEY. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, ApiError, type Message } from "../src/index.js";

const SALES = "month,revenue\n2025-01,100\n2025-02,180\n2025-03,140\n";
const client = new Client();

test("a chart is asked for, followed, waited for and downloaded", async () => {
  const file = new File([SALES], "sales.csv", { type: "text/csv" });
  const sent = await client.messages.send("Chart revenue by month", { files: [file], metadata: { n: "1" } });
  const types = new Set<string>();
  let cursor: string | undefined;
  for await (const entry of client.messages.follow(sent.id)) {
    types.add(entry.type);
    cursor = entry.cursor;
  }
  assert.ok(types.has("agent_reply") && types.has("result"), [...types].join());
  for await (const entry of client.messages.follow(sent.id, { cursor: cursor ?? "" })) {
    assert.fail(`nothing follows the last entry, but ${entry.type} came`);
  }
  const streamed: number[] = [];
  for await (const each of client.messages.stream(sent.id)) {
    if (each.type === "entry") streamed.push(each.entry.seq);
  }
  assert.ok(streamed.length >= types.size);
  const done = await client.messages.wait(sent.id, { timeoutMs: 60_000 });
  for await (const each of client.messages.list({ metadata: { n: "1" } })) {
    assert.equal(each.id, sent.id);
  }
  assert.deepEqual([done.status, done.metadata], ["completed", { n: "1" }]);
  const [chart] = done.files;
  assert.ok(chart);
  const bytes = await client.files.read(chart);
  assert.equal(bytes.length, chart.size);
  assert.equal(new TextDecoder().decode(bytes.subarray(1, 4)), "PNG");
  const [job] = done.jobs;
  assert.ok(job);
  assert.equal((await client.work.get(job.work_id)).work_id, job.work_id);
  assert.ok((await client.work.list({ limit: 5 })).some((each) => each.work_id === job.work_id));
  assert.equal((await client.work.delete(job.work_id)).work_id, job.work_id);
  assert.equal((await client.messages.cancel(sent.id)).status, "completed");
  assert.equal((await client.messages.delete(sent.id)).deleted, true);
  for await (const day of client.usage({ group_by: "day" })) assert.ok(day.messages >= 0);
});

test("a message is sent and read along to its end", async () => {
  const types: string[] = [];
  let done: Message | undefined;
  for await (const each of client.messages.sendAndStream("Hello")) {
    types.push(each.type);
    if (each.type === "message") done = each.message;
  }
  assert.deepEqual([types[0], types.at(-1)], ["message", "message"]);
  assert.ok(types.includes("entry"), types.join());
  assert.equal(done?.final, true);
});

test("a schedule is made, paused and deleted", async () => {
  const made = await client.schedules.create({ cron: "0 9 * * 1", message: { message: "Weekly report" } });
  assert.equal((await client.schedules.update(made.id, { paused: true })).status, "paused");
  assert.equal((await client.schedules.get(made.id)).id, made.id);
  const found: string[] = [];
  for await (const each of client.schedules.list()) found.push(each.id);
  assert.deepEqual(found, [made.id]);
  assert.equal((await client.schedules.delete(made.id)).deleted, true);
});

test("a file above the inline size goes the way of uploads", async () => {
  const rows = SALES + "2025-04,1\n".repeat(110_000);
  const data = new Blob([rows], { type: "text/csv" });
  const done = await client.messages.sendAndWait("What is the total revenue?", {
    files: [{ name: "sales.csv", data }],
    timeoutMs: 60_000,
  });
  assert.match(done.reply ?? "", /110,420/);
});

test("an endpoint lives and dies", async () => {
  const made = await client.webhooks.create({ url: "https://example.com/hook", events: ["message.completed"] });
  assert.match(made.secret, /^whsec_/);
  const changed = await client.webhooks.update(made.id, { enabled: false });
  assert.notEqual(changed.disabled_at, null);
  assert.notEqual((await client.webhooks.rotateSecret(made.id)).secret, made.secret);
  assert.deepEqual((await client.webhooks.get(made.id)).recent_deliveries, []);
  assert.deepEqual((await client.webhooks.deliveries(made.id, { limit: 5 })).data, []);
  assert.ok((await client.webhooks.list()).some((each) => each.id === made.id));
  assert.equal((await client.webhooks.delete(made.id)).deleted, true);
});

test("refusals have their codes", async () => {
  const isCode = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code;
  await assert.rejects(client.messages.get("msg_none"), isCode("not_found"));
  await assert.rejects(client.messages.send(""), isCode("empty_message"));
  await assert.rejects(new Client({ key: "svc_key_wrong" }).me(), isCode("unauthorized"));
  assert.equal(typeof (await client.me()).credits, "number");
});
