/** The project that a move goes into: the checks before the first write, and the files of the definitions. */
import { existsSync, mkdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CollectionDefinition } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { freeBytes, isObject, SetupError } from "../../base/kernel/index.ts";
import { definitionsIn, readDefinitionTexts } from "../../data/collections/index.ts";
import { isBucket } from "../../files/storage/index.ts";
import { DatabaseFile, DatabaseLock, makeFolder } from "../../store/database/index.ts";
import type { MoveSource } from "./source.ts";
import type { Survey } from "./survey.ts";

/** Room for the records with their events and indexes, as a multiple of the bytes at the source. */
const growth = 4;

/**
 * Checks that a project can take a source. Writes nothing.
 * @throws SetupError while a service runs, for a collection of the same name that no move has made, and for too little room.
 */
export async function checkTarget(config: Config, source: MoveSource, { size, largestOwner }: Survey): Promise<void> {
  makeFolder(dirname(config.database));
  new DatabaseLock(config.database).close();
  const texts = await readDefinitionTexts(folderOf(config));
  const known = [...texts.map(({ content }) => content), ...storedIn(config.database)];
  for (const { definition } of source.tables) {
    const taken = known
      .filter(isObject)
      .find(({ name }) => String(name).toLowerCase() === definition.name.toLowerCase());
    const fields = taken?.["fields"];
    const isMoved = Array.isArray(fields) && fields.some((field) => isObject(field) && field["name"] === "sourceId");
    if (taken !== undefined && !isMoved)
      throw new SetupError(
        `the project has a collection "${definition.name}" already, which no move has made: move into an empty folder`,
      );
  }
  const need = size + growth * source.size;
  const places = [dirname(config.database), ...(isBucket(config.storage) ? [] : [existingOf(config.storage)])];
  for (const place of places) {
    const free = await freeBytes(place);
    if (free < need) throw new SetupError(`${place}: the move needs ${need} bytes, and ${free} are free`);
  }
  for (const [limit, bytes] of [
    ["limits.storage", size],
    ["limits.storagePerUser", largestOwner],
  ] as const)
    if (config[limit] > 0 && bytes > config[limit])
      throw new SetupError(
        `${limit} is ${config[limit]} bytes, and the files to move have ${bytes}: raise the limit in the configuration`,
      );
}

function existingOf(folder: string): string {
  return existsSync(folder) ? folder : existingOf(dirname(folder));
}

function folderOf({ folder }: Config): string {
  return join(folder, "collections");
}

function storedIn(path: string): CollectionDefinition[] {
  if (!statSync(path, { throwIfNoEntry: false })?.size) return [];
  const file = new DatabaseFile(path);
  try {
    return definitionsIn(file);
  } finally {
    file.close();
  }
}

/** Writes the files of the definitions that the project lacks; the others belong to the project. Answers the paths. */
export function writeDefinitions(config: Config, { label, tables }: MoveSource): string[] {
  const folder = folderOf(config);
  mkdirSync(folder, { recursive: true });
  return tables.flatMap(({ from, definition, comments }) => {
    const path = join(folder, `${definition.name}.json`);
    if (existsSync(path)) return [];
    const head = [`Moved from ${label}: ${from}.`, ...comments].flatMap((each) => each.split("\n"));
    const text = `${head.map((line) => `// ${line}\n`).join("")}${JSON.stringify(definition, null, 2)}\n`;
    writeFileSync(`${path}.unfinished`, text);
    renameSync(`${path}.unfinished`, path);
    return [path];
  });
}
