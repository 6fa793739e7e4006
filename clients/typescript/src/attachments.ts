import type { InlineFileInput } from "./api.js";
import { FileRefusedError } from "./errors.js";
import { blobOf } from "./local_files.js";

/** A file to send: the path of one (Node.js, Bun, Deno), a `File` or `Blob`, bytes or text with a
 * name, or a public https address that the server fetches. */
export type Attachment =
  | string
  | Blob
  | { name: string; data: Blob | Uint8Array | string; contentType?: string }
  | { url: string; name?: string };

/** Bytes of one kind, ready to be sent. */
export interface Outgoing {
  name: string;
  contentType: string | undefined;
  blob: Blob;
}

/** Larger files are sent ahead: a message is held in memory while it is sent. */
const INLINE_BYTES_MAX = 1_000_000;
const INLINE_FILES_MAX = 5;

/** What goes into the message itself, and what is uploaded before it. */
export interface Packed {
  inline: InlineFileInput[];
  uploads: Outgoing[];
}

/** Share files out between the message and uploads. */
export async function pack(files: readonly Attachment[]): Promise<Packed> {
  if (!Array.isArray(files)) throw new TypeError("files must be an array, such as ['sales.csv']");
  const packed: Packed = { inline: [], uploads: [] };
  const isRoomy = files.length <= INLINE_FILES_MAX;
  for (const file of files) {
    if (typeof file === "object" && file !== null && "url" in file) {
      packed.inline.push({ url: file.url, ...(file.name ? { name: file.name } : {}) });
      continue;
    }
    const outgoing = await lookAt(file);
    if (isRoomy && outgoing.blob.size <= INLINE_BYTES_MAX) {
      packed.inline.push({
        name: outgoing.name,
        base64: base64(new Uint8Array(await outgoing.blob.arrayBuffer())),
        ...(outgoing.contentType ? { content_type: outgoing.contentType } : {}),
      });
    } else {
      packed.uploads.push(outgoing);
    }
  }
  return packed;
}

/** The name, type and bytes of an attachment that is no address. */
export async function lookAt(file: Exclude<Attachment, { url: string }>): Promise<Outgoing> {
  if (typeof file === "string") {
    const name = file.replace(/.*[\\/]/, "");
    return { name, contentType: undefined, blob: await blobOf(file) };
  }
  if (file instanceof Blob) {
    const name = "name" in file && typeof file.name === "string" && file.name ? file.name : "file";
    return { name, contentType: file.type || undefined, blob: file };
  }
  const isNamed = typeof file === "object" && file !== null && typeof file.name === "string";
  if (!isNamed || file.data === undefined || file.data === null) {
    const kinds = "a path, a File or Blob, { name, data } or { url }";
    throw new FileRefusedError(`a file must be ${kinds}, not ${describe(file)}`);
  }
  const { data } = file;
  const blob = data instanceof Blob ? data : new Blob([data as BlobPart]);
  return { name: file.name, contentType: file.contentType ?? (blob.type || undefined), blob };
}

function describe(value: unknown): string {
  const keys = typeof value === "object" && value !== null ? Object.keys(value).join(", ") : "";
  return keys ? `{ ${keys} }` : String(value);
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(text);
}
