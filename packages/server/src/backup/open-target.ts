/** Opening of the target of the backups. */
import { Bucket } from "./bucket.ts";
import { BucketTarget } from "./bucket-target.ts";
import { backupFolder, type DataPaths, isBucket } from "./data-paths.ts";
import { FolderTarget } from "./folder-target.ts";
import type { BackupTarget } from "./target.ts";

/** A folder, or `s3://BUCKET/PREFIX`. @throws SetupError for a bucket without keys. */
export function openTarget(address: string, { database, files }: DataPaths): BackupTarget {
  if (!isBucket(address)) return new FolderTarget(address);
  return new BucketTarget(new Bucket({ address, isFolder: true, keys: files.s3 }), backupFolder(database));
}
