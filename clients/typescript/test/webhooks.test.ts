import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { ConfigError, unwrap, WebhookRefusedError } from "../src/index.js";

const SECRET = `whsec_${Buffer.from("a secret of the test").toString("base64")}`;
const OTHER = `whsec_${Buffer.from("another one").toString("base64")}`;
const BODY = JSON.stringify({ type: "message.completed", data: { id: "msg_1", reply: "✓" } });

function signed(body: string, secret = SECRET, at = Math.floor(Date.now() / 1000)): Record<string, string> {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const digest = createHmac("sha256", key).update(`evt_1.${at}.${body}`).digest("base64");
  return { "webhook-id": "evt_1", "webhook-timestamp": `${at}`, "webhook-signature": `v1,${digest}` };
}

test("a signed event is read, from text, bytes and fetch headers", async () => {
  const event = await unwrap(BODY, signed(BODY), SECRET);
  assert.equal(event.type, "message.completed");
  const again = await unwrap(new TextEncoder().encode(BODY), new Headers(signed(BODY)), SECRET);
  assert.deepEqual(again, event);
});

test("while a secret is replaced both are good, on either side", async () => {
  await unwrap(BODY, signed(BODY, OTHER), [SECRET, OTHER]);
  const two = { ...signed(BODY), "webhook-signature": `v1,AAAA v2,x ${signed(BODY)["webhook-signature"]}` };
  await unwrap(BODY, two, SECRET);
});

const SIGNED = signed(BODY);
const RAW = Object.entries(SIGNED).flatMap(([name, value]) => [name.toUpperCase(), value]);
for (const [name, headers] of [
  ["names in any case", Object.fromEntries(Object.entries(SIGNED).map(([k, v]) => [k.toUpperCase(), v]))],
  ["lists of values", Object.fromEntries(Object.entries(SIGNED).map(([k, v]) => [k, [v]]))],
  ["pairs", Object.entries(SIGNED)],
  ["a map", new Map(Object.entries(SIGNED))],
  ["rawHeaders of Node.js", RAW],
  ["headers of another realm", { [Symbol.iterator]: () => Object.entries(SIGNED)[Symbol.iterator]() }],
  ["two lines of one header", { ...SIGNED, "Webhook-Signature": "v1,AAAA" }],
] as const) {
  test(`headers may be ${name}`, async () => {
    assert.equal((await unwrap(BODY, headers, SECRET)).type, "message.completed");
  });
}

test("a body may be an ArrayBuffer, or a part of one", async () => {
  const bytes = new TextEncoder().encode(`..${BODY}..`);
  await unwrap(bytes.buffer.slice(2, -2), SIGNED, SECRET);
  await unwrap(bytes.subarray(2, -2), SIGNED, SECRET);
});

test("the receiver's own mistakes are no refused webhooks", async () => {
  const parsed = JSON.parse(BODY) as string;
  await assert.rejects(unwrap(parsed, SIGNED, SECRET), /parsed JSON has other bytes/);
  for (const none of [null, undefined, "webhook-id: evt_1"]) {
    await assert.rejects(unwrap(BODY, none as unknown as Headers, SECRET), TypeError);
  }
  for (const none of ["", "whsec_", "whsec_!", []]) await assert.rejects(unwrap(BODY, SIGNED, none), ConfigError);
  await unwrap(BODY, SIGNED, ` ${SECRET}\n`);
});

for (const [name, body, headers] of [
  ["a changed body", BODY.replace("msg_1", "msg_2"), signed(BODY)],
  ["another secret", BODY, signed(BODY, OTHER)],
  ["an old request", BODY, signed(BODY, SECRET, Math.floor(Date.now() / 1000) - 400)],
  ["one from the future", BODY, signed(BODY, SECRET, Math.floor(Date.now() / 1000) + 400)],
  ["no headers", BODY, {}],
  ["no signature of ours", BODY, { ...signed(BODY), "webhook-signature": "v1a,AAAA v1,!" }],
] as const) {
  test(`${name} is refused`, async () => {
    await assert.rejects(unwrap(body, headers, SECRET), WebhookRefusedError);
  });
}

test("a longer tolerance is the caller's", async () => {
  const old = signed(BODY, SECRET, Math.floor(Date.now() / 1000) - 400);
  await unwrap(BODY, old, SECRET, { toleranceSeconds: 600 });
});
