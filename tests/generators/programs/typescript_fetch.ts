// A client made by openapi-generator, typescript-fetch; see tests/generators/generated.py.
import { Configuration, FilesApi, MessagesApi, ResponseError, UploadsApi, WebhooksApi } from "./client/index.js";

const { AGENTPOST_URL: basePath = "", AGENTPOST_KEY: key = "", MESSAGE: message = "", ORDER: order = "" } = process.env;
const configuration = new Configuration({ basePath, accessToken: key });
const messages = new MessagesApi(configuration);
const webhooks = new WebhooksApi(configuration);
const uploads = new UploadsApi(configuration);

const first = await messages.createMessage({
  idempotencyKey: order,
  wait: 0,
  messageIn: { message, metadata: { order } },
});
await messages.createMessage({ messageIn: { message: "Hello", metadata: { order: "another" } } });
let last = first;
while (!last._final) last = await messages.getMessage({ messageId: first.id, wait: 20 });

const listed = await messages.listMessages({ metadata: [`order=${order}`], createdAfter: first.createdAt });
const hook = await webhooks.createWebhookEndpoint({
  endpointIn: { url: "https://receiver.invalid/hook", events: ["message.completed"] },
});
const gone = await webhooks.deleteWebhookEndpoint({ endpointId: hook.id });

const ticket = await uploads.createUpload({ uploadIn: { filename: "a.csv", size: 4 } });
const form = new FormData();
for (const [name, value] of Object.entries(ticket.fields)) form.append(name, value);
form.append("file", new Blob(["a,b\n"]));
await fetch(ticket.url, { method: "POST", body: form });
const upload = await uploads.completeUpload({ uploadId: ticket.uploadId });

const file = await new FilesApi(configuration).getFile({ fileId: last.files[0]?.fileId ?? "" });
const stream = await messages.streamMessage({ messageId: first.id });
let error = "";
try {
  await messages.getMessage({ messageId: `msg_${"0".repeat(32)}` });
} catch (refused) {
  if (!(refused instanceof ResponseError)) throw refused;
  error = `${refused.response.status} ${(await refused.response.json()).error}`;
}

console.log(JSON.stringify({
  status: last.status,
  listed: listed.data.map((each) => each.id).join() === first.id,
  deleted: gone.deleted,
  upload: upload.status,
  file: `${file.name} ${await (await fetch(file.url)).text()}`,
  streamed: stream.includes("event: end"),
  error,
}));
