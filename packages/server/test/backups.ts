/** The shared parts of the tests of backups: a service with records and files, its backups, and restored copies of the service. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { dataPathsOf, knownSchemas } from "../src/app/index.ts";
import { backupFolder, type DataPaths, makeBackup, restoreBackup } from "../src/operate/backup/index.ts";
import { DatabaseFile } from "../src/store/database/index.ts";
import type { openFiles } from "./files.ts";
import { temporaryFolder } from "./kit.ts";

type Files = Awaited<ReturnType<typeof openFiles>>;
type BackupOptions = Parameters<typeof makeBackup>[0];

/** Makes a backup of a service that runs. */
export async function backUp(
  { service, config }: Pick<Files, "service" | "config">,
  options: Partial<BackupOptions> = {},
): Promise<string> {
  const output = join(temporaryFolder(), "backup.tar.zst");
  await makeBackup({
    database: service.database,
    paths: dataPathsOf(config),
    folder: backupFolder(service.database.path),
    filesPlace: "in the archive",
    holdRemovals: () => service.storage.holdRemovals(),
    filesSize: 0,
    output,
    encryption: null,
    maxLog: 1024 ** 3,
    version: "test",
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...options,
  });
  return options.output ?? output;
}

/** Paths of a new, empty folder. */
export function emptyPaths({ config }: Pick<Files, "config">): DataPaths {
  const folder = join(temporaryFolder(), "data");
  mkdirSync(folder);
  const { s3 } = dataPathsOf(config).files;
  const database = join(folder, "socle.db");
  return { database, files: { address: join(folder, "storage"), workFolder: `${database}-files`, s3 } };
}

export function restoreTo(
  paths: DataPaths,
  file: string | Blob,
  options: { force?: boolean; passphrase?: string; schemas?: Record<string, number> } = {},
): ReturnType<typeof restoreBackup> {
  const { force = false, passphrase = "", schemas = knownSchemas } = options;
  const source = typeof file === "string" ? Bun.file(file) : file;
  return restoreBackup(
    { name: "the backup", source, schemas, identity: async () => ({ passphrase }) },
    { paths, force },
  );
}

/** The bytes of a file in restored places; null for a file that is absent. */
export async function bytesIn({ files }: DataPaths, id: string): Promise<Uint8Array | null> {
  const path = join(files.address, id.slice(-2), id);
  return existsSync(path) ? Bun.file(path).bytes() : null;
}

/** Reads rows of a restored database, and closes the database. */
export function rowsIn<T>({ database }: DataPaths, sql: string): T[] {
  const file = new DatabaseFile(database);
  try {
    return file.all<T>(sql);
  } finally {
    file.close();
  }
}
