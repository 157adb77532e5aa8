/** The target of backups: its interface, the names of backups, and the target in a folder. */
import { readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ByteRange, FileBody } from "../../files/storage/index.ts";
import { makeFolder } from "../../store/database/index.ts";

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
  /** Null for a name without a backup. */
  find(name: string): Promise<KeptBackup | null>;
  read(name: string, range: ByteRange | null): FileBody;
  remove(name: string): Promise<void>;
  /** The path that a new backup is written to. */
  pathFor(name: string): string;
  /** Brings a new backup from its path to its final place. A second try resumes an interrupted delivery. */
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

/** Backups in a folder. */
export class FolderTarget implements BackupTarget {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async list(): Promise<KeptBackup[]> {
    const stats = statSync(this.#folder, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    return readdirSync(this.#folder).flatMap((name) => this.#look(name) ?? []);
  }

  async find(name: string): Promise<KeptBackup | null> {
    return this.#look(name);
  }

  read(name: string, range: ByteRange | null): FileBody {
    const file = Bun.file(join(this.#folder, name));
    return range === null ? file : file.slice(range.start, range.end);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true });
  }

  pathFor(name: string): string {
    makeFolder(this.#folder, 0o700);
    return join(this.#folder, name);
  }

  async deliver(): Promise<void> {
    // The backup was written in its final place.
  }

  #look(name: string): KeptBackup | null {
    if (timeOfName(name) === null) return null;
    const stats = statSync(join(this.#folder, name), { throwIfNoEntry: false });
    return stats?.isFile() === true ? { name, size: stats.size, endedAt: stats.mtimeMs } : null;
  }
}
