/** Trash table: the deleted records of collections with a `trash`, with all values, until the time of each record is over. */
import { identifier, literal, type Reader, type SlowTransactor, type Transactor } from "../../store/database/index.ts";
import type { CollectionPlan, ValueRename } from "./plan.ts";

export const trashTables = [
  // `root`: the id of the record, or of the user, whose deletion has deleted the record by `cascade`; or of the record. `record`: the values, as JSON.
  `CREATE TABLE _trash (seq INTEGER PRIMARY KEY, collection TEXT NOT NULL, id TEXT NOT NULL UNIQUE, owner TEXT, root TEXT NOT NULL,
    deletedAt INTEGER NOT NULL, endsAt INTEGER NOT NULL, record TEXT NOT NULL) STRICT`,
  "CREATE INDEX _trash_collection ON _trash (collection, seq)",
  "CREATE INDEX _trash_root ON _trash (root)",
  "CREATE INDEX _trash_end ON _trash (endsAt)",
];

/** An id names a record of its collection alone: an import of an export into another collection keeps the ids. */
export const trashByCollection = [
  "ALTER TABLE _trash RENAME TO _trash_by_id",
  // `rootCollection`: the collection of the root; `users` for a user.
  `CREATE TABLE _trash (seq INTEGER PRIMARY KEY, collection TEXT NOT NULL, id TEXT NOT NULL, owner TEXT, root TEXT NOT NULL,
    rootCollection TEXT NOT NULL, deletedAt INTEGER NOT NULL, endsAt INTEGER NOT NULL, record TEXT NOT NULL, UNIQUE (id, collection)) STRICT`,
  `INSERT INTO _trash (seq, collection, id, owner, root, rootCollection, deletedAt, endsAt, record)
    SELECT seq, collection, id, owner, root, coalesce((SELECT of.collection FROM _trash_by_id AS of WHERE of.id = former.root), 'users'),
      deletedAt, endsAt, record FROM _trash_by_id AS former`,
  "DROP TABLE _trash_by_id",
  "CREATE INDEX _trash_collection ON _trash (collection, seq)",
  "CREATE INDEX _trash_root ON _trash (root, rootCollection)",
  "CREATE INDEX _trash_end ON _trash (endsAt)",
];

/** A deleted record. Times are in milliseconds since 1970. */
export interface TrashRow {
  readonly collection: string;
  readonly id: string;
  readonly owner: string | null;
  readonly root: string;
  readonly rootCollection: string;
  readonly deletedAt: number;
  /** From now on, the record is gone. */
  readonly endsAt: number;
  readonly record: string;
}

interface NumberedRow extends TrashRow {
  readonly seq: number;
}

export function putTrash(tx: Transactor, row: TrashRow): void {
  const { collection, id, owner, root, rootCollection, deletedAt, endsAt, record } = row;
  tx.run(
    "INSERT OR REPLACE INTO _trash (collection, id, owner, root, rootCollection, deletedAt, endsAt, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    collection,
    id,
    owner,
    root,
    rootCollection,
    deletedAt,
    endsAt,
    record,
  );
}

export function trashRow(reader: Reader, collection: string, id: string): TrashRow | null {
  return reader.get<TrashRow>("SELECT * FROM _trash WHERE id = ? AND collection = ?", id, collection);
}

/** The records that the deletion of a record has deleted by `cascade`: a record stands before the records that point to the record. */
export function trashOfRoot(reader: Reader, { collection, id }: Pick<TrashRow, "collection" | "id">): TrashRow[] {
  const sql =
    "SELECT * FROM _trash WHERE root = ? AND rootCollection = ? AND (id <> root OR collection <> rootCollection) ORDER BY seq DESC";
  return reader.all<TrashRow>(sql, id, collection);
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
export function forgetTrash(tx: Transactor, collection: string, id: string): void {
  tx.run("DELETE FROM _trash WHERE id = ? AND collection = ?", id, collection);
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

/** Follows the renames of a collection, of fields and of values, and fields that turn multiple or single; removes the values of fields that go. */
export async function followInTrash(tx: SlowTransactor, { before, after, steps }: CollectionPlan): Promise<void> {
  if (before === null) return;
  if (before.name !== after.name)
    for (const column of ["collection", "rootCollection"])
      await tx.run(
        `UPDATE _trash SET ${identifier(column)} = ? WHERE ${identifier(column)} = ?`,
        after.name,
        before.name,
      );
  const renames = steps.flatMap((each) => (each.step === "rename" ? [each] : []));
  const gone = steps.flatMap((each) => (each.step === "drop" ? [literal(each.field)] : []));
  const values = (after.fields ?? []).flatMap((field) => {
    const changes = steps.filter((each) => "field" in each && each.field === field.name);
    const renamed = changes.flatMap((each) => (each.step === "values" ? (each.renamed ?? []) : []));
    if (renamed.length === 0 && !changes.some((each) => each.step === "multiple")) return [];
    return [`WHEN ${literal(field.name)} THEN ${followedValue({ isMultiple: field.multiple === true, renamed })}`];
  });
  if (renames.length + gone.length + values.length === 0) return;
  const names = renames.map(({ from, field }) => `WHEN ${literal(from)} THEN ${literal(field)}`);
  const name = names.length === 0 ? "member.key" : `CASE member.key ${names.join(" ")} ELSE member.key END`;
  const value = values.length === 0 ? present : `CASE ${name} ${values.join(" ")} ELSE ${present} END`;
  await tx.run(
    `UPDATE ${table} SET record = (SELECT json_group_object(${name}, json(${value}))
       FROM json_each(${table}.record) AS member WHERE member.key NOT IN (${gone.join(", ")})) WHERE collection = ?`,
    after.name,
  );
}

const table = identifier("_trash");
/** The JSON of a member of a record. */
const present = `${table}.record -> member.fullkey`;

/** The JSON of a member, whose items have other names, as SQL: an array, or the only item. Several items of a single field stay an array. */
function followedValue({ isMultiple, renamed }: { isMultiple: boolean; renamed: readonly ValueRename[] }): string {
  const names = renamed.map(({ from, to }) => `WHEN ${literal(from)} THEN ${literal(to)}`);
  const item = names.length === 0 ? "value" : `CASE value ${names.join(" ")} ELSE value END`;
  const items = `SELECT ${item} AS item FROM json_each(${table}.record, member.fullkey) WHERE type <> 'null'`;
  const single = "CASE count(*) WHEN 0 THEN 'null' WHEN 1 THEN json_quote(max(item)) ELSE json_group_array(item) END";
  return `(SELECT ${isMultiple ? "json_group_array(item)" : single} FROM (${items}))`;
}
