/** The tables of a dump with their new names: which table, which column and which id becomes what. */
import { type FieldDefinition, USERS } from "@socle/protocol";
import { collectionNameFor, fieldNameFor, timeNamed } from "../names.ts";
import { movedId } from "../source.ts";
import { itemsOf } from "./arrays.ts";
import type { Catalogue, Column, ForeignKey } from "./catalogue.ts";
import type { CopiedTable, Dump } from "./dump.ts";

const usersTable = "auth.users";
export const objectsTable = "storage.objects";

/** The form of ids that PostgreSQL makes. */
export const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type FieldType = FieldDefinition["type"];

const types: Readonly<Record<string, FieldType>> = {
  ...{ text: "text", "character varying": "string", character: "string", citext: "string", name: "string" },
  ...{ uuid: "string", smallint: "integer", integer: "integer", bigint: "integer", numeric: "float", real: "float" },
  ...{ "double precision": "float", boolean: "boolean", date: "datetime", json: "json", jsonb: "json" },
  ...{ "timestamp with time zone": "datetime", "timestamp without time zone": "datetime" },
};
const withoutPlace = ["bytea", "tsvector", "tsquery"];
const maxItems = 1_000;
const maxItemLength = 1_000;
const itemsByDefault = 100;

export interface PlacedColumn {
  readonly column: Column;
  /** The place among the cells. */
  readonly at: number;
  /** The new name: `createdAt` and `updatedAt` for the columns that become these times, `id` for the id. */
  readonly to: string;
  /** The type without schema: `citext`. */
  readonly sqlType: string;
  readonly type: FieldType;
  /** The largest number of items of a multiple field; 0 for a single value. */
  readonly items: number;
  readonly target: PlacedTable | null;
  readonly foreignKey: ForeignKey | null;
}

/** A table whose rows become records. */
export class PlacedTable {
  readonly copied: CopiedTable;
  /** The name without the schema `public`. */
  readonly from: string;
  /** The new name. */
  readonly to: string;
  columns: readonly PlacedColumn[] = [];

  constructor(copied: CopiedTable, to: string) {
    this.copied = copied;
    this.from = copied.table.name.replace(/^public\./, "");
    this.to = to;
  }

  get isUsers(): boolean {
    return this.to === USERS;
  }

  get isFiles(): boolean {
    return this.copied.table.name === objectsTable;
  }

  /** The id for an old id. */
  idFor(key: string): string {
    return movedId(this.isUsers ? "usr" : "rec", `${this.copied.table.name}/${key}`, 0);
  }

  fileIdFor(key: string): string {
    return movedId("fil", `${this.copied.table.name}/${key}`, 0);
  }

  column(name: string): PlacedColumn | undefined {
    return this.columns.find(({ column }) => column.name === name);
  }

  /** The column that is the whole primary key and leads to users: the rows are profiles. */
  get profileKey(): PlacedColumn | undefined {
    const { key } = this.copied.table;
    return this.columns.find(({ column, target }) => key.length === 1 && column.name === key[0] && target?.isUsers);
  }
}

export class DumpWorld {
  readonly dump: Dump;
  /** Users first, files last. */
  readonly tables: readonly PlacedTable[];
  /** Tables without a primary key. */
  readonly keyless: readonly CopiedTable[];
  readonly #byId: ReadonlyMap<number, PlacedTable>;

  constructor(dump: Dump, hasFiles: boolean) {
    this.dump = dump;
    const copied = [...dump.copied.values()];
    const ofApp = copied.filter(({ table }) => table.name.startsWith("public."));
    this.keyless = ofApp.filter(({ table }) => table.key.length === 0);
    const names = new Set<string>();
    this.tables = [
      ...copied.filter(({ table }) => table.name === usersTable).map((each) => new PlacedTable(each, USERS)),
      ...ofApp
        .filter(({ table }) => table.key.length > 0)
        .map((each) => new PlacedTable(each, collectionNameFor(each.table.name.slice("public.".length), names))),
      ...copied
        .filter(({ table }) => hasFiles && table.name === objectsTable)
        .map((each) => new PlacedTable(each, collectionNameFor("storage_objects", names))),
    ];
    this.#byId = new Map(this.tables.map((each) => [each.copied.id, each]));
    for (const table of this.tables) table.columns = this.#place(table);
  }

  get catalogue(): Catalogue {
    return this.dump.catalogue;
  }

  /** The table with a row of an old id, which is a UUID. */
  holderOf(key: string): PlacedTable | undefined {
    const found = this.dump.rows.tableOf(key);
    return found === undefined ? undefined : this.#byId.get(found);
  }

  #place(placed: PlacedTable): PlacedColumn[] {
    const { table, columns } = placed.copied;
    if (placed.isUsers) return [];
    const taken = new Set<string>();
    const found = table.columns.flatMap((column): PlacedColumn[] => {
      if (column.isGenerated || withoutPlace.includes(bare(column.type)) || !columns.includes(column.name)) return [];
      const shape = this.#shapeOf(column, placed);
      return [{ column, at: columns.indexOf(column.name), ...shape, to: newName(column, shape, { placed, taken }) }];
    });
    if (placed.isFiles) return ofFiles(found, this.tables[0] ?? null);
    return found.map((each) => this.#fitted(placed.copied.id, each));
  }

  #shapeOf(column: Column, { copied: { table } }: PlacedTable): Omit<PlacedColumn, "column" | "at" | "to"> {
    const foreignKey =
      table.foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === column.name) ?? null;
    const named = this.tables.find((each) => each.copied.table.name === foreignKey?.table);
    const key = named?.copied.table.key;
    const target = key?.length === 1 && key[0] === foreignKey?.targets[0] ? (named ?? null) : null;
    const sqlType = bare(column.type);
    const isText = ["string", "text"].includes(typeOf(column, this.catalogue));
    const type =
      target !== null ? "relation" : column.isArray ? (isText ? "string" : "json") : typeOf(column, this.catalogue);
    return { sqlType, type, items: column.isArray && isText ? itemsByDefault : 0, target, foreignKey };
  }

  /** The column in a type that holds the values of all rows: a whole number beyond all doubles is a text, an array that is no multiple field is JSON. */
  #fitted(table: number, placed: PlacedColumn): PlacedColumn {
    const { at, sqlType, type, to } = placed;
    const isArray = placed.items > 0;
    if (!isArray && (sqlType !== "bigint" || type !== "integer" || to === "id")) return placed;
    let items = itemsByDefault;
    for (const { cells } of this.dump.rows.rows(table)) {
      const cell = cells[at] ?? null;
      if (cell === null) continue;
      if (!isArray && !Number.isSafeInteger(Number(cell))) return { ...placed, type: "string" };
      if (!isArray) continue;
      const found = itemsOf(cell);
      const fits = found.every((item) => typeof item === "string" && item !== "" && item.length <= maxItemLength);
      if (!fits || new Set(found).size < found.length || found.length > maxItems)
        return { ...placed, type: "json", items: 0 };
      if (found.length > itemsByDefault) items = maxItems;
    }
    return isArray ? { ...placed, items } : placed;
  }
}

function bare(type: string): string {
  return type.replace(/^(?:extensions|pg_catalog|public)\./, "");
}

/** Whether Socle has a type for a column. */
export function isKnownType({ type }: Column, { enums }: Catalogue): boolean {
  return enums.has(type) || bare(type) in types;
}

function typeOf({ type }: Column, { enums }: Catalogue): FieldType {
  return enums.has(type) ? "string" : (types[bare(type)] ?? "text");
}

function newName(
  { name }: Column,
  { type, target }: Pick<PlacedColumn, "type" | "target">,
  { placed, taken }: { placed: PlacedTable; taken: Set<string> },
): string {
  const { key } = placed.copied.table;
  if (name === "id" && key.length === 1 && key[0] === "id") {
    if (target === null) return "id";
    return fieldNameFor(target.isUsers ? "user" : target.to, placed.to, taken);
  }
  const time = type === "datetime" ? timeNamed(name) : undefined;
  if (time === undefined || taken.has(time)) return fieldNameFor(name, placed.to, taken);
  taken.add(time);
  return time;
}

/** The columns of files: the bucket, the path, and the owner, whom newer versions keep in `owner_id`. */
function ofFiles(columns: readonly PlacedColumn[], target: PlacedTable | null): PlacedColumn[] {
  const owner =
    columns.find(({ column }) => column.name === "owner_id") ?? columns.find(({ column }) => column.name === "owner");
  const names: Readonly<Record<string, string>> = {
    bucket_id: "bucket",
    name: "path",
    owner: "owner",
    owner_id: "owner",
  };
  return columns.flatMap((each): PlacedColumn[] => {
    const to = names[each.column.name];
    if (to === "owner") return [{ ...each, at: owner?.at ?? each.at, to, type: "relation", target }];
    if (to !== undefined) return [{ ...each, to, type: "string", target: null }];
    return ["id", "createdAt", "updatedAt"].includes(each.to) ? [each] : [];
  });
}
