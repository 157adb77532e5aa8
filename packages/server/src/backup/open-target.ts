/** Opening the place where backups are kept. */
import { Bucket } from "./bucket.ts";
import { BucketTarget } from "./bucket-target.ts";
import { FolderTarget } from "./folder-target.ts";
import { backupFolder, isBucket, type Places } from "./places.ts";
import type { BackupTarget } from "./target.ts";

/** A folder, or `s3://BUCKET/PREFIX`. @throws SetupError for a bucket without keys. */
export function openTarget(place: string, { database, files }: Places): BackupTarget {
  if (!isBucket(place)) return new FolderTarget(place);
  return new BucketTarget(new Bucket({ place, isFolder: true, keys: files.s3 }), backupFolder(database));
}
