/** Backups: database and files of one moment in one file, made while the service runs; restore and verification. */
export { Backups } from "./backups.ts";
export { objectAt } from "./bucket.ts";
export { type DataPaths, isBucket } from "./data-paths.ts";
export { backupIdentity, type Encryption, type Identity } from "./encryption.ts";
export { isRestoring, putRight } from "./leftovers.ts";
export { makeBackup, missingWarning } from "./make-backup.ts";
export { openTarget } from "./open-target.ts";
export { restoreBackup } from "./restore.ts";
export { unpack } from "./unpacked.ts";
export { type Finding, verifyData } from "./verify.ts";
