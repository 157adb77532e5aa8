/** The tables of definitions: those in force, and the files of which some came. */

import type { CollectionDefinition } from "@socle/protocol";
import type { ModuleSchema, Reader, Transactor } from "../database/index.ts";
import type { Awaitable } from "../kernel/index.ts";
import { counterTable } from "./counter-table.ts";

export const collectionSchema: ModuleSchema = {
  module: "collections",
  steps: [
    "CREATE TABLE _collections (name TEXT PRIMARY KEY COLLATE NOCASE, definition TEXT NOT NULL, createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL) STRICT",
    // `renames` are those that the file asked for when it was applied: a file may keep them, and they are done.
    "CREATE TABLE _definition_files (file TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, renames TEXT NOT NULL) STRICT",
    // JSON of `LogMarks`; null for a definition that was stored before there were any, until the next start.
    "ALTER TABLE _collections ADD COLUMN places TEXT",
    counterTable,
  ],
};

/** A definition as its row holds it. */
export interface DefinitionRow {
  /** JSON. */
  readonly definition: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** JSON of `LogMarks`. */
  readonly places: string;
}

/** A definition file as it was when it was applied. */
export interface AppliedFile {
  readonly file: string;
  readonly fingerprint: string;
  /** JSON of the renames that it asked for. */
  readonly renames: string;
}

const columns = "definition, createdAt, updatedAt, places";

/** The definitions were validated when they were stored. */
function parse(rows: readonly { definition: string }[]): CollectionDefinition[] {
  return rows.map(({ definition }) => JSON.parse(definition) as CollectionDefinition);
}

export function definitionRows(reader: Reader): Awaitable<DefinitionRow[]> {
  return reader.all<DefinitionRow>(`SELECT ${columns} FROM _collections`);
}

export async function storedDefinitions(reader: Reader): Promise<CollectionDefinition[]> {
  return parse(await reader.all<{ definition: string }>("SELECT definition FROM _collections"));
}

/** Those that were stored before there were marks. */
export async function definitionsWithoutMarks(reader: Reader): Promise<CollectionDefinition[]> {
  return parse(await reader.all<{ definition: string }>("SELECT definition FROM _collections WHERE places IS NULL"));
}

export function putDefinition(tx: Transactor, name: string, row: DefinitionRow): Awaitable<unknown> {
  return tx.run(
    `INSERT OR REPLACE INTO _collections (name, ${columns}) VALUES (?, ?, ?, ?, ?)`,
    name,
    row.definition,
    row.createdAt,
    row.updatedAt,
    row.places,
  );
}

/** @param marks JSON of `LogMarks`. */
export function updateMarks(tx: Transactor, name: string, marks: string): Awaitable<unknown> {
  return tx.run("UPDATE _collections SET places = ? WHERE name = ?", marks, name);
}

export function deleteDefinition(tx: Transactor, name: string): Awaitable<unknown> {
  return tx.run("DELETE FROM _collections WHERE name = ?", name);
}

export function appliedFiles(reader: Reader): Awaitable<AppliedFile[]> {
  return reader.all<AppliedFile>("SELECT file, fingerprint, renames FROM _definition_files");
}

export function putAppliedFile(tx: Transactor, { file, fingerprint, renames }: AppliedFile): Awaitable<unknown> {
  return tx.run(
    "INSERT OR REPLACE INTO _definition_files (file, fingerprint, renames) VALUES (?, ?, ?)",
    file,
    fingerprint,
    renames,
  );
}
