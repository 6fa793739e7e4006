// Three turns through each client, whose third one needs the first two; and what goes with them.
import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import OpenAI, { toFile } from "openai";

const { AGENTPOST_URL, AGENTPOST_KEY } = process.env;
const baseURL = `${AGENTPOST_URL}/openai/v1`;
const see = JSON.stringify([["see"]]);
const report = JSON.stringify([
  ["start", "Report", [["progress", "reading"], ["write", "out/report.txt", "all is well"], ["return", "It is done."]]],
]);

function check(name, texts) {
  const [first, second, third] = texts;
  assert.equal(first, `You said: hello from ${name}`);
  assert.match(second, /^Report: running\n\nIt is done\.\n\n\[report\.txt\]\(http/);
  assert.deepEqual(JSON.parse(third).history.map(([role]) => role), ["user", "agent", "user", "agent", "job"]);
  console.log(`${name}: three turns`);
}

async function turns(name, ask) {
  const messages = [];
  const texts = [];
  for (const content of [`hello from ${name}`, report, see]) {
    messages.push({ role: "user", content });
    const text = await ask(messages);
    messages.push({ role: "assistant", content: text });
    texts.push(text);
  }
  check(name, texts);
}

const client = new OpenAI({ baseURL, apiKey: AGENTPOST_KEY });
await turns("openai", async (messages) => {
  const answer = await client.chat.completions.create({ model: "agentpost", messages });
  return answer.choices[0].message.content;
});
await turns("openai-stream", async (messages) => {
  const stream = client.chat.completions.stream({ model: "agentpost", messages });
  return stream.finalContent();
});
const file = await client.files.create({ file: await toFile(Buffer.from("naïve"), "Größe.txt"), purpose: "user_data" });
assert.equal(file.filename, "Größe.txt");
assert.equal(await (await client.files.content(file.id)).text(), "naïve");
assert.equal((await client.files.delete(file.id)).deleted, true);

const compatible = createOpenAICompatible({ name: "agentpost", baseURL, apiKey: AGENTPOST_KEY, includeUsage: true });
const models = {
  "ai-compatible": compatible("agentpost"),
  "ai-openai-chat": createOpenAI({ baseURL, apiKey: AGENTPOST_KEY }).chat("agentpost"),
};
for (const [name, model] of Object.entries(models)) {
  await turns(name, async (messages) => (await generateText({ model, messages })).text);
  await turns(`${name}-stream`, async (messages) => {
    const result = streamText({ model, messages, onError: ({ error }) => { throw error; } });
    let text = "";
    for await (const part of result.textStream) text += part;
    if (name === "ai-compatible" && messages.length === 3) assert.match(await result.reasoningText, /reading/);
    return text;
  });
}
