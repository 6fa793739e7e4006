// A client made by openapi-typescript and openapi-fetch; see tests/generators/generated.py.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const { AGENTPOST_URL: baseUrl = "", AGENTPOST_KEY: key, MESSAGE: message = "", ORDER: order = "" } = process.env;
const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

function got<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const first = got(await api.POST("/v1/messages", {
  params: { header: { "Idempotency-Key": order }, query: { wait: 0 } },
  body: { message, metadata: { order } },
}));
await api.POST("/v1/messages", { body: { message: "Hello", metadata: { order: "another" } } });
const message_id = first.id;
let last = first;
while (!last.final)
  last = got(await api.GET("/v1/messages/{message_id}", { params: { path: { message_id }, query: { wait: 20 } } }));

const listed = got(await api.GET("/v1/messages", {
  params: { query: { metadata: [`order=${order}`], created_after: first.created_at } },
}));
const hook = got(await api.POST("/v1/webhooks", {
  body: { url: "https://receiver.invalid/hook", events: ["message.completed"] },
}));
const gone = got(await api.DELETE("/v1/webhooks/{endpoint_id}", { params: { path: { endpoint_id: hook.id } } }));

const ticket = got(await api.POST("/v1/uploads", { body: { filename: "a.csv", size: 4 } }));
const form = new FormData();
for (const [name, value] of Object.entries(ticket.fields)) form.append(name, value);
form.append("file", new Blob(["a,b\n"]));
await fetch(ticket.url, { method: "POST", body: form });
const upload = got(await api.POST("/v1/uploads/{upload_id}/complete", {
  params: { path: { upload_id: ticket.upload_id } },
}));

const file = got(await api.GET("/v1/files/{file_id}", { params: { path: { file_id: last.files[0]?.file_id ?? "" } } }));
const stream = got(await api.GET("/v1/messages/{message_id}/stream", {
  params: { path: { message_id } },
  parseAs: "text",
}));
const unknown = await api.GET("/v1/messages/{message_id}", {
  params: { path: { message_id: `msg_${"0".repeat(32)}` } },
});

console.log(JSON.stringify({
  status: last.status,
  listed: listed.data.map((each) => each.id).join() === message_id,
  deleted: gone.deleted,
  upload: upload.status,
  file: `${file.name} ${await (await fetch(file.url)).text()}`,
  streamed: stream.includes("event: end"),
  error: `${unknown.response.status} ${unknown.error?.error}`,
}));
