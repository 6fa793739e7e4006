import { ConfigError, FileRefusedError } from "./errors.js";

/** What is used of Node.js' modules: not imported, so that the package works where they are not. */
interface NodeFiles {
  openAsBlob?: (path: string) => Promise<Blob>;
  promises: {
    readFile(path: string): Promise<Uint8Array>;
    stat(path: string): Promise<{ isDirectory(): boolean }>;
    rename(from: string, to: string): Promise<void>;
    rm(path: string, options: { force: boolean }): Promise<void>;
    open(path: string, flags: string): Promise<{
      write(bytes: Uint8Array): Promise<{ bytesWritten: number }>;
      close(): Promise<void>;
    }>;
  };
}

/** The file at a path; it is read while it is sent. */
export async function blobOf(path: string): Promise<Blob> {
  const fs = nodeFiles();
  try {
    if ((await fs.promises.stat(path)).isDirectory()) throw new Error("it is a folder");
    if (fs.openAsBlob) return await fs.openAsBlob(path);
    return new Blob([(await fs.promises.readFile(path)) as BlobPart]);
  } catch (error) {
    throw new FileRefusedError(`cannot read the file ${path}: ${(error as Error).message}`);
  }
}

/** Write the body to a file, which appears when all of it is there.
 *
 * `into` is a folder or the path of the file; in a folder the file gets `name`. Gives the path.
 */
export async function save(body: ReadableStream<Uint8Array>, name: string, into: string): Promise<string> {
  const fs = nodeFiles().promises;
  const isFolder = await fs.stat(into).then((found) => found.isDirectory(), () => false);
  const base = name.replace(/.*[\\/]/, "") || "file";
  const path = !isFolder ? into : into === "." ? base : `${into.replace(/[\\/]+$/, "")}/${base}`;
  const draft = `${path}.${crypto.randomUUID().slice(0, 8)}.part`;
  try {
    const file = await fs.open(draft, "wx");
    try {
      const reader = body.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        for (let rest = part.value; rest.length > 0; ) {
          const { bytesWritten } = await file.write(rest);
          rest = rest.subarray(bytesWritten);
        }
      }
    } finally {
      await file.close();
    }
    await fs.rename(draft, path);
    return path;
  } finally {
    await fs.rm(draft, { force: true });
  }
}

function nodeFiles(): NodeFiles {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => unknown };
  };
  const fs = process?.getBuiltinModule?.("node:fs");
  if (!fs) throw new ConfigError("paths of files need Node.js 20.16, Bun or Deno: pass a Blob here");
  return fs as NodeFiles;
}
