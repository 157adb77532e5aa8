/** Backups: a backup holds database and files of the same moment, and is made while the service runs; restore and verification. */
export { Backups, checkBackups } from "./backups.ts";
export type { DataPaths } from "./data-paths.ts";
export { backupIdentity, encryptionFor, type Identity } from "./encryption.ts";
export { makeBackup } from "./make-backup.ts";
export { hasMoves, putRight } from "./moves.ts";
export { restoreBackup, unpack } from "./restore.ts";
export { sourceOf } from "./target.ts";
export { type Finding, verifyData } from "./verify.ts";
