/** The places of backups: the target of the configuration, the check of its settings, and the file of one backup. */
import { statSync } from "node:fs";
import { messageOf, SetupError } from "../../base/kernel/index.ts";
import { nextTime } from "../../code/jobs/index.ts";
import { Bucket, isBucket } from "../../files/storage/index.ts";
import { BucketTarget } from "./bucket-target.ts";
import { backupFolder, type DataPaths } from "./data-paths.ts";
import { isRecipient } from "./encryption.ts";
import { type BackupTarget, FolderTarget } from "./target.ts";

/** A folder, or `s3://BUCKET/PREFIX`. @throws SetupError for a bucket without keys. */
export function openTarget(address: string, { database, files }: DataPaths): BackupTarget {
  if (!isBucket(address)) return new FolderTarget(address);
  return new BucketTarget(address, files.s3, backupFolder(database));
}

/** The settings of backups, by their keys in the configuration. */
export interface BackupSettings {
  readonly "backup.target": string;
  readonly "backup.schedule": string | undefined;
  readonly "backup.recipient": string | undefined;
}

/** @throws SetupError for a bucket without keys, a schedule that is not cron, and a recipient that is not a public key. */
export async function checkBackups(settings: BackupSettings, paths: DataPaths): Promise<void> {
  const { "backup.target": target, "backup.schedule": schedule, "backup.recipient": recipient } = settings;
  openTarget(target, paths);
  if (recipient !== undefined && !(await isRecipient(recipient)))
    throw new SetupError("backup.recipient: is not the public key of an age identity, such as age1…");
  if (schedule !== undefined) dueTime(schedule, 0);
}

/** When a backup is due after a time, in milliseconds since 1970. @throws SetupError for a schedule that is not cron. */
export function dueTime(schedule: string, after: number): number {
  try {
    return nextTime({ schedule, timezone: "UTC" }, after) ?? Number.POSITIVE_INFINITY;
  } catch (thrown) {
    throw new SetupError(`backup.${messageOf(thrown)}`);
  }
}

/** The object at an address, `s3://BUCKET/KEY`; null for an object that does not exist. @throws Error with one line. */
export async function objectAt(
  address: string,
  keys: DataPaths["files"]["s3"],
): Promise<{ blob: Blob; size: number } | null> {
  const at = address.lastIndexOf("/") + 1;
  const bucket = new Bucket(address.slice(0, at), keys);
  const name = address.slice(at);
  try {
    const found = await bucket.find(name);
    return found && { blob: bucket.blob(name), size: found.size };
  } catch (thrown) {
    throw new Error(`${address}: cannot be read: ${messageOf(thrown)}`);
  }
}

/** The file of a backup, on this machine or in a bucket. @throws SetupError for a file that does not exist. */
export async function sourceOf(file: string, { files }: DataPaths): Promise<{ source: Blob; size: number }> {
  if (isBucket(file)) {
    const object = await objectAt(file, files.s3);
    if (object === null) throw new SetupError(`${file}: there is no such object`);
    return { source: object.blob, size: object.size };
  }
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new SetupError(`${file}: there is no such file`);
  if (!stats.isFile()) throw new SetupError(`${file}: is not a regular file; name the file of a backup`);
  return { source: Bun.file(file), size: stats.size };
}
