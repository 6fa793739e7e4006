// What check_runtimes.py runs in each JavaScript runtime, against a real server.

import {
  Client,
  ApiError,
  BadAnswerError,
  ConnectionError,
  WebhookRefusedError,
  unwrap,
} from "agentpost-client";

const SALES = "month,revenue\nJan,120\nFeb,135\n";

/** Uses the client as a program does; gives a line for each thing it saw. */
export async function exercise({ url, key, redirecting, nowhere }) {
  const client = new Client({ url: `${url}/v1/\n`, key: `${key}\n` });
  const lines = [];
  const types = new Set();
  let done;
  const files = [{ name: "Umsätze.csv", data: SALES }];
  for await (const part of client.messages.sendAndStream("Chart revenue by month", { files })) {
    types.add(part.type);
    if (part.type === "message") done = part.message;
  }
  lines.push(`streamed: ${types.has("entry")}, ${done.status}`);
  const chart = await client.files.read(done.files[0]);
  lines.push(`downloaded: ${chart.length === done.files[0].size}`);
  const large = { name: "large.csv", data: new Blob([SALES + "Mar,1\n".repeat(200_000)]) };
  const answered = await client.messages.sendAndWait("What is the total revenue?", { files: [large] });
  lines.push(`uploaded: ${answered.reply.includes("200,255")}`);
  lines.push(await failure(client.messages.get("msg_none")));
  const options = { key, retry: { retries: 0 } };
  lines.push(await failure(new Client({ ...options, url: redirecting }).me()));
  lines.push(await failure(new Client({ ...options, url: nowhere }).me()));
  const stopping = new AbortController();
  setTimeout(() => stopping.abort(new Error("the user left")), 50);
  lines.push(await failure(waitForEver(client, stopping.signal)));
  return [...lines, ...(await received())];
}

async function waitForEver(client, signal) {
  for await (const event of client.events.follow({ types: "job.failed" }, { signal })) {
    throw new Error(`${event.id} came`);
  }
}

async function failure(promise) {
  try {
    await promise;
    return "nothing failed";
  } catch (error) {
    if (error instanceof ApiError) return `refused: ${error.code}`;
    if (error instanceof BadAnswerError) return "not this API";
    if (error instanceof ConnectionError) return "not reached";
    if (error instanceof WebhookRefusedError) return "webhook refused";
    return String(error);
  }
}

async function received() {
  const secret = btoa("a secret of the tests");
  const body = JSON.stringify({ type: "message.completed", data: { id: "msg_1" } });
  const at = Math.floor(Date.now() / 1000);
  const bytes = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes.encode(atob(secret)), algorithm, false, ["sign"]);
  const digest = await crypto.subtle.sign("HMAC", key, bytes.encode(`evt_1.${at}.${body}`));
  const signature = btoa(String.fromCharCode(...new Uint8Array(digest)));
  const headers = new Headers({ "Webhook-Id": "evt_1", "Webhook-Timestamp": `${at}` });
  headers.set("Webhook-Signature", `v1,${signature}`);
  const request = new Request("https://x.test", { method: "POST", body, headers });
  const event = await unwrap(await request.arrayBuffer(), request.headers, secret);
  return [`webhook: ${event.data.id}`, await failure(unwrap("{}", headers, secret))];
}
