/** Backups: a backup holds database and files of the same moment, and is made while the service runs. This module also restores and verifies backups, and makes the snapshots of a cluster. */

export { type ArchiveSource, backupIdentity, encryptionFor, type Identity } from "./archive.ts";
export { BackupPlace } from "./backup-place.ts";
export { Backups, checkBackups, checkSchedule } from "./backups.ts";
export { ContinuousBackup, type ContinuousState, latenessOf } from "./continuous.ts";
export {
  isBackupPlace,
  type Moment,
  momentsOf,
  restoreMoment,
  surveyOf,
} from "./continuous-restore.ts";
export { gapText, missingText, segmentsOf, verifyContinuous } from "./continuous-verify.ts";
export { backupFolder, type DataPaths, driverOf, hasMoves, putRight } from "./data-paths.ts";
export { makeBackup } from "./make-backup.ts";
export { restoreBackup, setAside } from "./restore.ts";
export { type Snapshot, Snapshots } from "./snapshots.ts";
export { sourceOf } from "./target.ts";
export { type Finding, verifyData } from "./verify.ts";
export { verifyBackup } from "./verify-backup.ts";
