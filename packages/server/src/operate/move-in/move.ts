/**
 * The move: users, files and records of a source into an open service. Every id follows from the old id, so a second run finds
 * what is there: the run goes on after a kill, and brings over what has changed since.
 */

import { closeSync, openSync, renameSync, writeFileSync } from "node:fs";
import type { CollectionDefinition } from "@socle/protocol";
import { AppError, LoopTurns, SetupError, system, systemFor } from "../../base/kernel/index.ts";
import type { Collections } from "../../data/collections/index.ts";
import { type ImportedRecord, isSameValue, type Records } from "../../data/records/index.ts";
import type { Storage } from "../../files/storage/index.ts";
import type { Auth, UserDeletions } from "../../people/auth/index.ts";
import type { Database, Transactor } from "../../store/database/index.ts";
import type { MovedFile, MovedRow, MoveSource, MoveTable } from "./source.ts";
import { idsThere, movedRecords } from "./sql/moved-records.ts";

const rowsAtOnce = 200;

interface MoveOptions {
  readonly auth: Auth;
  readonly collections: Collections;
  readonly database: Database;
  readonly records: Records;
  readonly storage: Storage;
  readonly userDeletions: UserDeletions;
  /** The path of the map: lines of JSON, `{ from, to }`. */
  readonly map: string;
  /** Whether records are deleted here that the source has deleted since an earlier run. */
  readonly deletes: boolean;
  readonly onProgress: (done: number) => void;
}

export interface MoveReport {
  made: number;
  changed: number;
  unchanged: number;
  files: number;
  /** Records of an earlier run that the source has no more: deleted here with `deletes`, kept otherwise. */
  gone: number;
}

interface WrittenRow {
  readonly row: MovedRow;
  readonly body: Readonly<Record<string, unknown>>;
}

export class Mover {
  readonly #options: MoveOptions;
  readonly #source: MoveSource;
  readonly #turns = new LoopTurns();
  readonly #report: MoveReport = { made: 0, changed: 0, unchanged: 0, files: 0, gone: 0 };

  constructor(source: MoveSource, options: MoveOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** @throws SetupError for a row that the service refuses; AppError when the disk or the storage refuses. */
  async run(): Promise<MoveReport> {
    const { map, onProgress } = this.#options;
    const unfinished = `${map}.unfinished`;
    const lines = openSync(unfinished, "w");
    try {
      for (const table of this.#source.tables) {
        const definition = this.#definition(table);
        for (const rows of batches(table.rows(), rowsAtOnce)) {
          await this.#write(table, definition, rows);
          writeFileSync(lines, rows.map((row) => mapOf(row, definition.name)).join(""));
          onProgress(this.#report.made + this.#report.changed + this.#report.unchanged);
        }
      }
    } finally {
      closeSync(lines);
    }
    renameSync(unfinished, map);
    for (const table of this.#source.tables.toReversed()) await this.#followDeletions(table);
    return this.#report;
  }

  #definition({ definition: { name, fields } }: MoveTable): CollectionDefinition {
    const { definition } = this.#options.collections.named(name);
    const lacking = fields.find((field) => !definition.fields.some((each) => each.name === field.name));
    if (lacking !== undefined)
      throw new SetupError(
        `collections/${name}.json has no field "${lacking.name}", which the source has: add ${JSON.stringify(lacking)} to the file, and start again`,
      );
    return definition;
  }

  async #write(table: MoveTable, definition: CollectionDefinition, rows: readonly MovedRow[]): Promise<void> {
    const { collections, database, records } = this.#options;
    const { name } = definition;
    const before = idsThere(
      database.reader,
      name,
      rows.map(({ id }) => id),
    );
    for (const row of rows) for (const file of row.files()) await this.#store(file, row.owner);
    const written = rows.map((row) => {
      const { id, createdAt, updatedAt, owner } = row;
      const values = row.values(definition, () => undefined);
      const stored: Readonly<Record<string, unknown>> = before.has(id)
        ? records.getIn(database.reader, collections.named(name), { principal: system, id })
        : {};
      const body = Object.fromEntries(
        Object.entries(values).filter(([field, value]) => !(field in stored && isSameValue(stored[field], value))),
      );
      return { row, body, given: { id, createdAt, updatedAt, problems: [], ...(owner !== null && { owner }) } };
    });
    const accounts = written.filter(({ row }) => row.account !== null);
    if (accounts.length > 0)
      await database.transactLong("move-in", async (tx) => {
        for (const { row, body } of accounts) {
          this.#moveUser(tx, table, { row, body });
          if (this.#turns.isDue()) await this.#turns.next();
        }
      });
    const changed = written.filter(({ row, body }) => before.has(row.id) && Object.keys(body).length > 0);
    // A user who is new has the fields already.
    const added = written.filter(({ row }) => row.account === null && !before.has(row.id));
    await this.#import(table, name, [...added, ...changed]);
    this.#report.made += rows.length - before.size;
    this.#report.changed += changed.length;
    this.#report.unchanged += before.size - changed.length;
  }

  async #import(
    table: MoveTable,
    collection: string,
    written: readonly (WrittenRow & ImportedRecord)[],
  ): Promise<void> {
    if (written.length === 0) return;
    const { rejections } = await this.#options.records.importAll(system, {
      collection,
      records: written,
      match: { field: "id", creates: true, keepsTimes: true },
      isPromised: () => true,
      isTaken: null,
    });
    const [refused] = rejections;
    if (refused === undefined) return;
    const reasons = refused.details.map(({ message }) => message).join("; ");
    throw new SetupError(`${table.from}/${written[refused.position]?.row.sourceId}: ${reasons}`);
  }

  /** @throws SetupError for an address that another user has here. */
  #moveUser(tx: Transactor, { from }: MoveTable, { row, body }: WrittenRow): void {
    const { id, createdAt, updatedAt, account, sourceId } = row;
    if (account === null) return;
    const { email, passwordHash, verifiedAt, links } = account;
    const moved = { id, createdAt, updatedAt, verifiedAt };
    try {
      this.#options.auth.movedUsers.moveIn(tx, { email, passwordHash, fields: body, takes: () => true, moved }, links);
    } catch (thrown) {
      if (!(thrown instanceof AppError) || thrown.code !== "conflict") throw thrown;
      throw new SetupError(
        `${from}/${sourceId}: another user here has the address ${email}: give another address with --email ${sourceId}=ADDRESS`,
      );
    }
  }

  async #store({ id, path, filename, visibility }: MovedFile, owner: string | null): Promise<void> {
    const { storage } = this.#options;
    if (storage.find(id) !== null) return;
    const principal = owner === null ? system : systemFor(owner);
    await storage.store(
      principal,
      async (upload) => {
        for await (const piece of Bun.file(path).stream()) await upload.write(piece);
        return { filename, visibility };
      },
      { id },
    );
    this.#report.files += 1;
  }

  /** Deletes or counts the records of earlier runs that the source has no more. */
  async #followDeletions(table: MoveTable): Promise<void> {
    const { database, deletes, records, userDeletions } = this.#options;
    const { name } = table.definition;
    const gone = movedRecords(database.reader, name)
      .filter(({ sourceId }) => !table.has(sourceId))
      .toArray();
    this.#report.gone += gone.length;
    if (!deletes) return;
    for (const { id } of gone) {
      // The deletion of another record may have taken the record along.
      if (!idsThere(database.reader, name, [id]).has(id)) continue;
      if (name === "users") await userDeletions.delete(id, system, () => () => undefined);
      else await records.delete(name, system, id);
    }
  }
}

/** The lines of the map for a row, and for the files of the row. */
function mapOf(row: MovedRow, collection: string): string {
  const files = row
    .files()
    .flatMap(({ id, addresses }) => addresses.map((from) => ({ from, to: `/api/storage/${id}` })));
  const moved = [{ from: row.address, to: `/api/${collection}/${row.id}` }, ...files];
  return moved.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function* batches<T>(items: Iterable<T>, size: number): Iterable<T[]> {
  let batch: T[] = [];
  for (const item of items)
    if (batch.push(item) === size) {
      yield batch;
      batch = [];
    }
  if (batch.length > 0) yield batch;
}
