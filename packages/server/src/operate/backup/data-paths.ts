/** Data paths: the database and the files of a service with their drivers, and the folders that backups and restores work in. */
import { join } from "node:path";
import { Logger } from "../../base/logging/index.ts";
import { type DriverOptions, isBucket, openDriver, type StorageDriver } from "../../files/storage/index.ts";

export interface DataPaths {
  /** Absolute path of the database file. */
  readonly database: string;
  /** The address of the files, and the keys of the store. */
  readonly files: Pick<DriverOptions, "address" | "workFolder" | "s3">;
}

/** The folder of a restore that is under way, beside the database. */
export function restoreFolder(database: string): string {
  return `${database}-restore`;
}

const quiet = new Logger({ level: "ERROR", sinks: [] });

export function driverOf({ files }: Pick<DataPaths, "files">): StorageDriver {
  return openDriver({ ...files, logger: quiet });
}

/** The folder in which the files of a restore wait, on the file system of their target. */
export function fileWorkFolder({ database, files }: DataPaths): string {
  return isBucket(files.address) ? join(restoreFolder(database), "files") : join(files.address, ".work", "restore");
}

/** A driver that keeps files in a folder, as the local driver does. */
export function folderDriver(folder: string, { files }: Pick<DataPaths, "files">): StorageDriver {
  return openDriver({ address: folder, workFolder: folder, s3: files.s3, logger: quiet });
}
