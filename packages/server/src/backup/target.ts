/** Where backups are kept: a folder, or a bucket. */
import type { ByteRange, FileBody } from "../storage/index.ts";

/** A backup that is whole. */
export interface KeptBackup {
  readonly name: string;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
}

export interface BackupTarget {
  /** All that are kept, in no order. */
  list(): Promise<KeptBackup[]>;
  /** Null when there is none of this name. */
  find(name: string): Promise<KeptBackup | null>;
  read(name: string, range: ByteRange | null): FileBody;
  remove(name: string): Promise<void>;
  /** The path that a new backup is written to. */
  pathFor(name: string): string;
  /** Brings a new backup from there to its final place. A second try resumes an interrupted delivery. */
  deliver(
    name: string,
    options: { signal: AbortSignal; onProgress: (done: number, total: number) => void },
  ): Promise<void>;
}

const namePattern = /^socle-(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})-(\d{3})Z\.tar\.zst(\.age)?$/;

/** The name of a backup that begins at a time (milliseconds since 1970). Names sort by time. */
export function backupName(time: number, isEncrypted: boolean): string {
  const text = new Date(time).toISOString().replace(/[:.]/g, "-");
  return `socle-${text}.tar.zst${isEncrypted ? ".age" : ""}`;
}

/** When the backup of a name began, in milliseconds since 1970; null for a name that no backup has. */
export function timeOfName(name: string): number | null {
  const [, day, hours, minutes, seconds, milliseconds] = namePattern.exec(name) ?? [];
  if (day === undefined) return null;
  const time = Date.parse(`${day}T${hours}:${minutes}:${seconds}.${milliseconds}Z`);
  return Number.isNaN(time) ? null : time;
}
