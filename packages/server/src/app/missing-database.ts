/**
 * A missing database in a place of earlier data: a volume that is not mounted, a wrong path, an emptied file. A service
 * that made a new database would take writes that nobody finds again, and would offer its first admin to any visitor.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../base/config/index.ts";
import { SetupError } from "../base/kernel/index.ts";
import { isBucket } from "../files/storage/index.ts";

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Whether a folder holds files of a service: `ab/fil_…ab`, as the local driver names files. */
function holdsFiles(folder: string): boolean {
  if (isBucket(folder) || !existsSync(folder)) return false;
  for (const name of readdirSync(folder)) {
    if (!/^[0-9a-f]{2}$/.test(name)) continue;
    if (readdirSync(join(folder, name)).some((file) => file.startsWith("fil_"))) return true;
  }
  return false;
}

/** @throws SetupError when the database is missing or empty, and must not be. */
export function refuseMissingDatabase(config: Config): void {
  const { database, storage } = config;
  // A service that was killed at its very start has everything in its log.
  if (sizeOf(database) > 0 || sizeOf(`${database}-wal`) > 0) return;
  const state = existsSync(database) ? "is empty" : "is missing";
  if (config["database.mustExist"])
    throw new SetupError(`database ${database}: ${state}, and database.mustExist says that it must be there`);
  if (holdsFiles(storage))
    throw new SetupError(
      `database ${database}: ${state}, but ${storage} holds the files of a service. Mount the database, or restore a backup with socle restore; to begin anew, move these files away`,
    );
}
