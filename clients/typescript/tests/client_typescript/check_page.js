// Calls the functions that docs/typescript.md shows, as a reader's server would.

import { createHmac } from "node:crypto";

import { POST } from "./hook.js";
import { ask, begin } from "./server_side.js";

const key = Buffer.from("a secret of the tests");
process.env.WEBHOOK_SECRET = `whsec_${key.toString("base64")}`;

function signed(body) {
  const [id, at] = ["evt_1", String(Math.floor(Date.now() / 1000))];
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": `v1,${signature}` };
  return new Request("http://127.0.0.1/hook", { method: "POST", body, headers });
}

const body = JSON.stringify({ type: "message.completed", data: { id: "msg_1" } });
const taken = await POST(signed(body));
const changed = new Request("http://127.0.0.1/hook", { method: "POST", body: "{}", headers: signed(body).headers });
const refused = await POST(changed);
console.log(taken.status, refused.status);

const file = new Blob(["month,revenue\nJan,120\nFeb,135\n"], { type: "text/csv" });
const upload = await begin("sales.csv", file.size);
const form = new FormData(); // as `uploadFile` of the browser does
for (const [name, value] of Object.entries(upload.fields)) form.append(name, value);
form.append("file", file, "sales.csv");
const posted = await fetch(upload.url, { method: "POST", body: form });
if (!posted.ok) throw new Error(await posted.text());
console.log(await ask("customer-4711", upload.upload_id, "What is the total revenue?"));
