/** Backups in a folder. */
import { readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../database/index.ts";
import type { ByteRange, FileBody } from "../storage/index.ts";
import { type BackupTarget, type KeptBackup, timeOfName } from "./target.ts";

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
