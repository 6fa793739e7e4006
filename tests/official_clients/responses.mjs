// The official client of OpenAI and the AI SDK with the Responses API: three turns of each, in the
// mode that they have by default, and what they make of failed work. Prints JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";

const { BASE_URL: baseURL, API_KEY: apiKey, TURNS, FAILING } = process.env;
const turns = JSON.parse(TURNS);

async function withOpenAI() {
  const client = new OpenAI({ baseURL, apiKey });
  const input = [];
  const texts = [];
  for (const text of turns) {
    input.push({ role: "user", content: text });
    const response = await client.responses.create({ model: "agentpost", input });
    input.push(...response.output);
    texts.push(response.output_text);
  }
  return texts;
}

async function withAiSdk(answer) {
  const model = createOpenAI({ baseURL, apiKey })("agentpost");
  const messages = [];
  const texts = [];
  for (const text of turns) {
    messages.push({ role: "user", content: text });
    const result = await answer({ model, messages });
    messages.push(...(await result.response).messages);
    texts.push(await result.text);
  }
  return texts;
}

async function streamed(call) {
  const result = streamText(call);
  for await (const _ of result.textStream);
  return result;
}

async function failure(call) {
  const model = createOpenAI({ baseURL, apiKey })("agentpost");
  try {
    await call({ model, prompt: FAILING, maxRetries: 0 });
  } catch (error) {
    return error.message;
  }
  return "it did not fail";
}

async function streamedFailure(call) {
  const result = streamText({ ...call, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === "error") {
      throw new Error(part.error.message ?? JSON.stringify(part.error));
    }
  }
}

console.log(
  JSON.stringify({
    openai: await withOpenAI(),
    generateText: await withAiSdk(generateText),
    streamText: await withAiSdk(streamed),
    failed: await failure(generateText),
    failedStream: await failure(streamedFailure),
  }),
);
