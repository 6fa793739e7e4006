// A client made by @hey-api/openapi-ts, with its client for fetch; see tests/generators/generated.py.
import { client } from "./client/client.gen.js";
import * as api from "./client/index.js";

const { AGENTPOST_URL: baseUrl = "", AGENTPOST_KEY: key = "", MESSAGE: message = "", ORDER: order = "" } = process.env;
client.setConfig({ baseUrl, auth: key });
const throwOnError = true as const;

const first = (await api.createMessage({
  throwOnError,
  headers: { "Idempotency-Key": order },
  query: { wait: 0 },
  body: { message, metadata: { order } },
})).data;
await api.createMessage({ throwOnError, body: { message: "Hello", metadata: { order: "another" } } });
const path = { message_id: first.id };
let last = first;
while (!last.final) last = (await api.getMessage({ throwOnError, path, query: { wait: 20 } })).data;

const listed = (await api.listMessages({
  throwOnError,
  query: { metadata: [`order=${order}`], created_after: first.created_at },
})).data;
const hook = (await api.createWebhookEndpoint({
  throwOnError,
  body: { url: "https://receiver.invalid/hook", events: ["message.completed"] },
})).data;
const gone = (await api.deleteWebhookEndpoint({ throwOnError, path: { endpoint_id: hook.id } })).data;

const ticket = (await api.createUpload({ throwOnError, body: { filename: "a.csv", size: 4 } })).data;
const form = new FormData();
for (const [name, value] of Object.entries(ticket.fields)) form.append(name, value);
form.append("file", new Blob(["a,b\n"]));
await fetch(ticket.url, { method: "POST", body: form });
const upload = (await api.completeUpload({ throwOnError, path: { upload_id: ticket.upload_id } })).data;

const file = (await api.getFile({ throwOnError, path: { file_id: last.files[0]?.file_id ?? "" } })).data;
const { stream } = await api.streamMessage({ path });
let streamed = false;
for await (const data of stream) streamed ||= JSON.stringify(data).includes("agent_reply");
const unknown = await api.getMessage({ path: { message_id: `msg_${"0".repeat(32)}` } });

console.log(JSON.stringify({
  status: last.status,
  listed: listed.data.map((each) => each.id).join() === first.id,
  deleted: gone.deleted,
  upload: upload.status,
  file: `${file.name} ${await (await fetch(file.url)).text()}`,
  streamed,
  error: `${unknown.response?.status} ${unknown.error?.error}`,
}));
