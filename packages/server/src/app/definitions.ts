import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import { userTable } from "../auth/index.ts";
import { Collections, changedDefinitions, collectionSchema } from "../collections/index.ts";
import type { Config } from "../config/index.ts";
import { Database } from "../database/index.ts";
import { EventLog } from "../events/index.ts";
import { Clock } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";

/**
 * The definitions as the next start would have them: those of the database, and over them the files that have changed
 * since. Also while the service runs.
 * @throws SetupError for a file or a database that cannot be read.
 */
export async function readDefinitions(config: Config, logger: Logger): Promise<CollectionDefinition[]> {
  const folder = join(config.folder, "collections");
  if (!existsSync(config.database)) return byName(await changedDefinitions(folder, null));
  const clock = new Clock();
  const onFatal = (error: unknown): void => logger.error("The disk refused a write", { error });
  const database = new Database({ path: config.database, logger, exclusive: false, onFatal });
  try {
    await database.prepare([collectionSchema]);
    const collections = new Collections({
      database,
      clock,
      users: userTable,
      events: new EventLog({ database, clock, logger }),
    });
    await collections.start();
    const stored = collections.all().map(({ definition }) => definition);
    return byName([...stored, ...(await changedDefinitions(folder, database.reader))]);
  } finally {
    await database.close();
  }
}

/** One of each name, the last one, in the order of names. */
function byName(definitions: readonly CollectionDefinition[]): CollectionDefinition[] {
  const latest = new Map(definitions.map((definition) => [definition.name, definition]));
  return [...latest.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
