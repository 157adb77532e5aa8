/** Verifying a backup: the whole archive is read, compared with its manifest, and the database of the archive is checked. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { count } from "../../base/kernel/index.ts";
import type { ArchiveSource } from "./archive.ts";
import { unpack } from "./restore.ts";
import type { Finding } from "./verify.ts";

/**
 * The files of the archive are only read; the database is unpacked into a folder that is removed afterwards.
 * @param within the folder of that folder. @throws Error with one line for a backup that is not whole.
 */
export async function verifyBackup(archive: ArchiveSource, within = tmpdir()): Promise<Finding[]> {
  const folder = mkdtempSync(join(within, "socle-verify-"));
  try {
    const head = await unpack(archive, { folder, files: null, depth: "full" });
    const { counts, missing } = head;
    const hasFiles = head.files === "in the archive";
    const whole = hasFiles ? counts.files - missing.length : 0;
    const files: Finding = hasFiles
      ? { state: "ok", subject: "files", text: `${count(whole, "file")} whole` }
      : { state: "info", subject: "files", text: `${count(counts.files, "file")} in the storage, not in the backup` };
    return [
      { state: "info", subject: "backup", text: `made by ${head.socle} at ${head.createdAt}` },
      { state: "ok", subject: "checksums", text: `${count(whole + 1, "checksum")} as the manifest says` },
      { state: "ok", subject: "database", text: `${count(counts.records, "record")}, ${count(counts.users, "user")}` },
      files,
      ...missing.map(
        (id): Finding => ({ state: "error", subject: "files", text: `${id} had no bytes when the backup was made` }),
      ),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
