import type { InlineFileInput } from "./api.js";

/** A file to send: a `File` or `Blob` (`fs.openAsBlob` makes one of a path without reading it),
 * bytes or text with a name, or a public https address that the server fetches. */
export type Attachment =
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
  const packed: Packed = { inline: [], uploads: [] };
  const isRoomy = files.length <= INLINE_FILES_MAX;
  for (const file of files) {
    if ("url" in file) {
      packed.inline.push({ url: file.url, ...(file.name ? { name: file.name } : {}) });
      continue;
    }
    const outgoing = lookAt(file);
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
export function lookAt(file: Exclude<Attachment, { url: string }>): Outgoing {
  if (file instanceof Blob) {
    const name = "name" in file && typeof file.name === "string" && file.name ? file.name : "file";
    return { name, contentType: file.type || undefined, blob: file };
  }
  const { data } = file;
  const blob = data instanceof Blob ? data : new Blob([data as BlobPart]);
  return { name: file.name, contentType: file.contentType ?? (blob.type || undefined), blob };
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(text);
}
