/** Trash table: the deleted records of collections with a `trash`, with all values, until the time of each record is over. */
import { identifier, literal, type Reader, type SlowTransactor, type Transactor } from "../../store/database/index.ts";
import type { CollectionPlan } from "./plan.ts";

export const trashTables = [
  // `root`: the id of the record, or of the user, whose deletion has deleted the record by `cascade`; or of the record. `record`: the values, as JSON.
  `CREATE TABLE _trash (seq INTEGER PRIMARY KEY, collection TEXT NOT NULL, id TEXT NOT NULL UNIQUE, owner TEXT, root TEXT NOT NULL,
    deletedAt INTEGER NOT NULL, endsAt INTEGER NOT NULL, record TEXT NOT NULL) STRICT`,
  "CREATE INDEX _trash_collection ON _trash (collection, seq)",
  "CREATE INDEX _trash_root ON _trash (root)",
  "CREATE INDEX _trash_end ON _trash (endsAt)",
];

/** A deleted record. Times are in milliseconds since 1970. */
export interface TrashRow {
  readonly collection: string;
  readonly id: string;
  readonly owner: string | null;
  readonly root: string;
  readonly deletedAt: number;
  /** From now on, the record is gone. */
  readonly endsAt: number;
  readonly record: string;
}

interface NumberedRow extends TrashRow {
  readonly seq: number;
}

export function putTrash(tx: Transactor, row: TrashRow): void {
  const { collection, id, owner, root, deletedAt, endsAt, record } = row;
  tx.run(
    "INSERT OR REPLACE INTO _trash (collection, id, owner, root, deletedAt, endsAt, record) VALUES (?, ?, ?, ?, ?, ?, ?)",
    collection,
    id,
    owner,
    root,
    deletedAt,
    endsAt,
    record,
  );
}

export function trashRow(reader: Reader, collection: string, id: string): TrashRow | null {
  return reader.get<TrashRow>("SELECT * FROM _trash WHERE id = ? AND collection = ?", id, collection);
}

/** The records that the deletion of a record has deleted by `cascade`: a record stands before the records that point to the record. */
export function trashOfRoot(reader: Reader, root: string): TrashRow[] {
  return reader.all<TrashRow>("SELECT * FROM _trash WHERE root = ? AND id <> root ORDER BY seq DESC", root);
}

/** The records of a collection, the last deleted first. @param before the seq of the last record of the page before; null for the first page. */
export function trashPage(
  reader: Reader,
  collection: string,
  { before, limit }: { before: number | null; limit: number },
): NumberedRow[] {
  const sql = "SELECT * FROM _trash WHERE collection = ? AND seq < ? ORDER BY seq DESC LIMIT ?";
  return reader.all<NumberedRow>(sql, collection, before ?? Number.MAX_SAFE_INTEGER, limit);
}

/** Removes a record for good, also a record that exists again. */
export function forgetTrash(tx: Transactor, id: string): void {
  tx.run("DELETE FROM _trash WHERE id = ?", id);
}

/** Removes some records of a collection for good. Answers the number. */
export function emptyTrash(tx: Transactor, collection: string, limit: number): number {
  const some = "SELECT seq FROM _trash WHERE collection = ? ORDER BY seq LIMIT ?";
  return tx.run(`DELETE FROM _trash WHERE seq IN (${some})`, collection, limit);
}

/** Whether a record is over, or the trash has more than `kept` records. */
export function isTrashOver(reader: Reader, { now, kept }: { now: number; kept: number }): boolean {
  if (reader.get("SELECT 1 AS n FROM _trash WHERE endsAt <= ? LIMIT 1", now) !== null) return true;
  const span = reader.get<{ n: number }>("SELECT coalesce(max(seq) - min(seq), 0) AS n FROM _trash");
  return (span?.n ?? 0) >= kept && reader.get("SELECT 1 AS n FROM _trash LIMIT 1 OFFSET ?", kept) !== null;
}

/** Removes some records that are over, or that were deleted before the `kept` newest. Answers the number. */
export function endTrash(tx: Transactor, { now, kept, limit }: { now: number; kept: number; limit: number }): number {
  const over = tx.run(
    "DELETE FROM _trash WHERE seq IN (SELECT seq FROM _trash WHERE endsAt <= ? ORDER BY endsAt LIMIT ?)",
    now,
    limit,
  );
  const beyond =
    "SELECT seq FROM _trash WHERE seq <= (SELECT seq FROM _trash ORDER BY seq DESC LIMIT 1 OFFSET ?) ORDER BY seq LIMIT ?";
  return over + tx.run(`DELETE FROM _trash WHERE seq IN (${beyond})`, kept, limit);
}

/** The number of records of a collection. */
export function countTrash(reader: Reader, collection: string): number {
  return reader.get<{ n: number }>("SELECT count(*) AS n FROM _trash WHERE collection = ?", collection)?.n ?? 0;
}

/** Forgets the records of a collection that goes. */
export async function dropTrash(tx: SlowTransactor, collection: string): Promise<void> {
  await tx.run("DELETE FROM _trash WHERE collection = ?", collection);
}

/** Follows the renames of a collection and of fields, and removes the values of fields that go. */
export async function followInTrash(tx: SlowTransactor, { before, after, steps }: CollectionPlan): Promise<void> {
  if (before === null) return;
  if (before.name !== after.name)
    await tx.run("UPDATE _trash SET collection = ? WHERE collection = ?", after.name, before.name);
  const renames = steps.flatMap((each) => (each.step === "rename" ? [each] : []));
  const gone = steps.flatMap((each) => (each.step === "drop" ? [literal(each.field)] : []));
  if (renames.length + gone.length === 0) return;
  const names = renames.map(({ from, field }) => `WHEN ${literal(from)} THEN ${literal(field)}`).join(" ");
  const name = renames.length === 0 ? "key" : `CASE key ${names} ELSE key END`;
  const table = identifier("_trash");
  await tx.run(
    `UPDATE ${table} SET record = (SELECT json_group_object(${name}, json(${table}.record -> fullkey))
       FROM json_each(${table}.record) WHERE key NOT IN (${gone.join(", ")})) WHERE collection = ?`,
    after.name,
  );
}
