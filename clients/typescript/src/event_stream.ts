import { ConnectionError } from "./errors.js";

/** One server-sent event; `id` is that of the last event which had one. */
export interface ServerEvent {
  id: string;
  name: string;
  data: string;
}

/** The server says something more often than this, be it that nothing happens. */
const SILENCE_MS = 45_000;

/** The events of a response's body (WHATWG HTML, "Server-sent events"). A body that breaks off or
 * falls silent raises `ConnectionError`; leaving the loop closes the connection. */
export async function* events(
  body: ReadableStream<Uint8Array>,
  silenceMs = SILENCE_MS,
): AsyncGenerator<ServerEvent, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let id = "";
  let rest = "";
  try {
    for (;;) {
      let chunk;
      try {
        chunk = await within(silenceMs, reader.read());
      } catch (error) {
        if (error instanceof ConnectionError) throw error;
        throw new ConnectionError("The stream broke off.", { cause: error });
      }
      if (chunk.done) return;
      rest = (rest + decoder.decode(chunk.value, { stream: true })).replace(/\r\n/g, "\n");
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const fields = readFields(rest.slice(0, end));
        rest = rest.slice(end + 2);
        id = fields.get("id") ?? id;
        const data = fields.get("data");
        if (data !== undefined) yield { id, name: fields.get("event") ?? "message", data };
        else if (fields.has("id")) yield { id, name: "place", data: "{}" };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** What the promise gives, if it does so in time. */
async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  let timer;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError("The stream fell silent.")), milliseconds);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function readFields(block: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name, value] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue; // a comment keeps the line alive
    const before = name === "data" ? fields.get("data") : undefined;
    fields.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return fields;
}
