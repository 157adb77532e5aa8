/** The definitions of collections, for commands: those of the database, and over them the files that have changed since. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import { changedDefinitions } from "../collections/index.ts";
import type { Config } from "../config/index.ts";
import { SetupError } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import { askService } from "./control.ts";
import { buildService, type Service } from "./service.ts";

/**
 * The definitions as the next start would have them, also while the service runs.
 * @throws SetupError for a file or a database that cannot be read.
 */
export async function readDefinitions(config: Config, logger: Logger): Promise<CollectionDefinition[]> {
  if (!existsSync(config.database)) return byName(await changedDefinitions(folderOf(config), null));
  const asked = await askService(config.database, { kind: "definitions" }, {});
  if (asked === null) {
    const onFatal = (error: unknown): void => logger.error("The disk refused a write", { error });
    await using service = await buildService({ config, logger, onFatal });
    await service.collections.start();
    return await definitionsOf(service, config);
  }
  if (asked.error !== null) throw new SetupError(asked.error);
  // The service is this program.
  return asked.value as CollectionDefinition[];
}

/** The definitions of a service, and over them those of the files that have changed since they were applied. */
export async function definitionsOf(
  { collections, database }: Service,
  config: Config,
): Promise<CollectionDefinition[]> {
  const stored = collections.all().map(({ definition }) => definition);
  return byName([...stored, ...(await changedDefinitions(folderOf(config), database.reader))]);
}

function folderOf({ folder }: Config): string {
  return join(folder, "collections");
}

/** One of each name, the last one, in the order of names. */
function byName(definitions: readonly CollectionDefinition[]): CollectionDefinition[] {
  const latest = new Map(definitions.map((definition) => [definition.name, definition]));
  return [...latest.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
