/** Archives of a release: tar.gz with the same bytes for the same files, whoever makes the archive and when. */
import { createReadStream, createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";

export interface ArchivedFile {
  readonly name: string;
  /** The file with the content. */
  readonly path: string;
  readonly mode: 0o644 | 0o755;
}

/** @param changedAt the time that the files have in the archive, in milliseconds. */
export async function writeArchive(
  path: string,
  { files, changedAt }: { files: readonly ArchivedFile[]; changedAt: number },
): Promise<void> {
  const archive = pack();
  const written = pipeline(archive, createGzip({ level: 9 }), createWriteStream(path));
  for (const { name, path: source, mode } of files) {
    const header = { name, mode, mtime: new Date(changedAt), uid: 0, gid: 0, uname: "root", gname: "root" };
    archive.entry(header, await readFile(source));
  }
  archive.finalize();
  await written;
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function sha256(path: string): Promise<string> {
  const hash = new Bun.SHA256();
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}
