/** The files of a service that does not run: opening their driver, and folders for those that are not in place yet. */
import { join } from "node:path";
import { Logger } from "../logging/index.ts";
import { openDriver, type StorageDriver } from "../storage/index.ts";
import { type DataPaths, isBucket, restoreFolder } from "./data-paths.ts";

const quiet = new Logger({ level: "ERROR", sinks: [] });

export function driverOf({ files }: Pick<DataPaths, "files">): Promise<StorageDriver> {
  return openDriver({ ...files, logger: quiet });
}

/** Where the files of a restore wait: on the file system that they are moved to. */
export function fileWorkFolder({ database, files }: DataPaths): string {
  return isBucket(files.address) ? join(restoreFolder(database), "files") : join(files.address, ".work", "restore");
}

/** A driver that keeps files in a folder, as the local one does. */
export function folderDriver(folder: string, { files }: Pick<DataPaths, "files">): Promise<StorageDriver> {
  return openDriver({ address: folder, workFolder: folder, s3: files.s3, logger: quiet });
}
