/**
 * The records that hold the id of a file. A field of files has no index unless its definition asks for one, so every record
 * of the collections that have such fields may be looked at: on a thread, for a limited time, beyond a few thousand.
 */
import type { FieldDefinition, FileUse } from "@socle/protocol";
import type { Collection, Collections } from "../collections/index.ts";
import { type Database, identifier, type Reader, visited, type Waiter } from "../database/index.ts";
import { typeOf } from "../fields/index.ts";
import { checkInForce, refuseOther } from "./schema-race.ts";

interface Page {
  readonly limit: number;
  readonly offset: number;
}

interface Uses {
  readonly items: FileUse[];
  readonly total: number;
}

/** A field of type file, with its collection. */
interface FilePlace {
  readonly collection: Collection;
  readonly field: FieldDefinition;
}

function placesOf(collections: Collections): FilePlace[] {
  return collections
    .all()
    .flatMap((collection) => collection.definition.fields.map((field) => ({ collection, field })))
    .filter(({ field }) => typeOf(field).reference === "file");
}

/**
 * The uses of a file, by collection and field, newest first in each.
 * @throws AppError `unavailable` when it takes too long, or too many queries wait.
 */
export async function fileUses(
  { database, collections }: { database: Database; collections: Collections },
  fileId: string,
  { waiter, ...page }: Page & { waiter: Waiter },
): Promise<Uses> {
  for (let attempt = 1; ; attempt++) {
    const places = placesOf(collections);
    const reached = new Set(places.map(({ collection }) => collection));
    try {
      return await database.query(
        "file uses",
        async (reader, where) => {
          await checkInForce({ collections, reached }, reader, where);
          return readUses(reader, places, { ...page, fileId });
        },
        { ...waiter, signal: () => waiter.signal },
      );
    } catch (thrown) {
      refuseOther(thrown, attempt);
    }
  }
}

async function readUses(
  reader: Reader,
  places: readonly FilePlace[],
  { fileId, limit, offset }: Page & { fileId: string },
): Promise<Uses> {
  const items: FileUse[] = [];
  let total = 0;
  for (const { collection, field } of places) {
    const table = identifier(collection.table);
    const where = `${visited(table)} AND ${table}.${identifier(field.name)} = ?`;
    const row = await reader.get<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE ${where}`, fileId);
    const [found, skipped] = [row?.n ?? 0, Math.max(0, offset - total)];
    total += found;
    if (skipped >= found || items.length >= limit) continue;
    const ids = await reader.all<{ id: string }>(
      `SELECT id FROM ${table} WHERE ${where} ORDER BY _seq DESC LIMIT ? OFFSET ?`,
      fileId,
      limit - items.length,
      skipped,
    );
    items.push(...ids.map(({ id }) => ({ collection: collection.name, field: field.name, id })));
  }
  return { items, total };
}
