/** Archives of a release: tar and tar.gz with the same bytes for the same files, whoever makes the archive and when. */
import { createReadStream, createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";

export interface ArchivedFile {
  readonly name: string;
  /** The file with the content. */
  readonly path: string;
  readonly mode: 0o644 | 0o755;
}

interface ArchivedFolder {
  /** The name, with a slash at the end. */
  readonly name: string;
  readonly mode: 0o700 | 0o755;
  /** The id of the user and of the group; root without an id. */
  readonly owner?: number;
}

export type ArchiveEntry = ArchivedFile | ArchivedFolder;

/**
 * Writes an archive, compressed when its name ends in `.gz`.
 * @param changedAt the time that the files have in the archive, in milliseconds.
 */
export async function writeArchive(
  path: string,
  { files, changedAt }: { files: readonly ArchiveEntry[]; changedAt: number },
): Promise<void> {
  const archive = pack();
  const compression = path.endsWith(".gz") ? createGzip({ level: 9 }) : new PassThrough();
  const written = pipeline(archive, compression, createWriteStream(path));
  for (const file of files) {
    const { name, mode } = file;
    const header = { name, mode, mtime: new Date(changedAt), uid: 0, gid: 0, uname: "root", gname: "root" };
    if ("path" in file) archive.entry(header, await readFile(file.path));
    else {
      const owner = file.owner === undefined ? {} : { uid: file.owner, gid: file.owner, uname: "", gname: "" };
      archive.entry({ ...header, ...owner, type: "directory" });
    }
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
