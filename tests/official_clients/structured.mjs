// JSON that fits a schema of zod through the Responses API, by OpenAI's client and the AI SDK.
//
// BASE_URL and KEY say where. The prompt is a script of the tests' agent, whose output comes back.

import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, Output } from "ai";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const { BASE_URL: baseURL, KEY: apiKey } = process.env;
const model = "agentpost";
const Line = z.object({ from: z.tuple([z.number(), z.number()]), note: z.string().nullable() });
const Total = z.object({ total: z.int(), unit: z.enum(["EUR", "USD"]) });
const Node = z.object({
  name: z.string(),
  get children() {
    return z.array(Node);
  },
});
const line = { from: [1, 2.5], note: null };
const total = { total: 3, unit: "EUR" };
const tree = { name: "a", children: [{ name: "b", children: [] }] };
const asked = (value) => JSON.stringify([["output", value]]);

const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const parse = async (schema, value) => {
  const text = { format: zodTextFormat(schema, "value") };
  return (await client.responses.parse({ model, input: asked(value), text })).output_parsed;
};
const provider = createOpenAI({ baseURL, apiKey });
const generate = async (schema, value) => {
  const call = { model: provider.responses(model), prompt: asked(value), maxRetries: 0 };
  const { object } = await generateObject({ ...call, schema });
  const { output } = await generateText({ ...call, output: Output.object({ schema }) });
  return [object, output];
};

const results = [
  [total, await parse(Total, total)],
  [tree, await parse(Node, tree)], // takes no tuple
  [line, ...(await generate(Line, line))],
  [tree, ...(await generate(Node, tree))],
];
console.log(JSON.stringify(results));
