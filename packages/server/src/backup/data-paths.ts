/** Data paths: where a service keeps its database and its files, and the folders beside them that backups work in. */
import type { DriverOptions } from "../storage/index.ts";

export interface DataPaths {
  /** Absolute path of the database file. */
  readonly database: string;
  /** Where files are kept, and how they are reached. */
  readonly files: Pick<DriverOptions, "address" | "workFolder" | "s3">;
}

/** The folder of a backup that is being made, beside the database; the next start removes it. */
export function backupFolder(database: string): string {
  return `${database}-backup`;
}

/** The folder of a restore that is under way, beside the database. */
export function restoreFolder(database: string): string {
  return `${database}-restore`;
}

export function isBucket(address: string): boolean {
  return address.startsWith("s3://");
}
