// Lists the tools of a server, makes the calls in CALLS, pairs of a tool and its arguments, and
// prints what the client gives for each.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const headers = { Authorization: `Bearer ${process.env.SERVER_KEY}` };
const url = new URL(`${process.env.SERVER_URL}/mcp`);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
const { tools } = await client.listTools(); // from here on it checks each result by its schema
const results = [];
for (const [name, args] of JSON.parse(process.env.CALLS)) {
  try {
    const result = await client.callTool({ name, arguments: args });
    const text = result.content.map((part) => part.text ?? part.uri).join("\n");
    results.push({ refused: Boolean(result.isError), text, value: result.structuredContent });
  } catch (error) {
    results.push({ thrown: String(error) });
  }
}
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));
