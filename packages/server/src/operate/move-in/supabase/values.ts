/** Values of PostgreSQL as values of Socle. */
import type { CollectionDefinition, FieldDefinition, JsonValue } from "@socle/protocol";
import { parseDatetime } from "../../../base/kernel/index.ts";
import type { Choices, MovedFile, NoteInField, NoteOddity } from "../source.ts";
import type { StoredRow } from "../sql/work-rows.ts";
import { danglingId, decoded, jsonOf, movableFile, storedFile, textOf, valuesOf } from "../values.ts";
import { type Item, itemsOf } from "./arrays.ts";
import { type DumpWorld, type PlacedColumn, type PlacedTable, uuidForm } from "./world.ts";

/** A whole value that is the address of a file in a public bucket. */
const address = /^(?:https?:\/\/[^/\s]+)?\/storage\/v1\/object\/public\/([^/?#]+)\/([^?#]+)(?:[?#].*)?$/;

export class DumpValues {
  readonly #world: DumpWorld;
  readonly #choices: Choices;
  /** The folder of the files. */
  readonly #folder: string | null;
  readonly #files: PlacedTable | undefined;
  readonly #publicBuckets = new Set<string>();
  /** The places of the bucket and the path among the cells of a file. */
  readonly #places: readonly [bucket: number, path: number];

  constructor(world: DumpWorld, choices: Choices, folder: string | null) {
    this.#world = world;
    this.#choices = choices;
    this.#folder = folder;
    this.#files = world.tables.find(({ isFiles }) => isFiles);
    const { copied, rows } = world.dump;
    const place = (to: string): number => this.#files?.columns.find((each) => each.to === to)?.at ?? -1;
    this.#places = [place("bucket"), place("path")];
    if (this.#files !== undefined) rows.indexBy(this.#files.copied.id, this.#places);
    const buckets = copied.get("storage.buckets");
    if (buckets !== undefined)
      for (const { key, cells } of rows.rows(buckets.id))
        if (cells[buckets.columns.indexOf("public")] === "t") this.#publicBuckets.add(key);
  }

  /** The values of a row by a definition, without the values of fields that the definition lacks. */
  of(
    row: StoredRow,
    { table, definition, note }: { table: PlacedTable; definition: CollectionDefinition; note: NoteOddity },
  ): Record<string, JsonValue> {
    const values = valuesOf(table.columns, {
      ...{ definition, note },
      read: (placed, at) => this.#value(row.cells[placed.at] ?? null, { ...at, placed }),
      place: ({ column }) => `${table.from}/${row.key}: ${column.name}`,
    });
    if (!table.isFiles) return values;
    return { ...values, file: movableFile(this.#file(row), (oddity) => note(oddity, "file"))?.id ?? null };
  }

  #value(cell: string | null, at: { placed: PlacedColumn; field: FieldDefinition; note: NoteInField }): JsonValue {
    const { placed, field, note } = at;
    if (cell === null) return placed.items > 0 ? [] : null;
    if (placed.target !== null) return this.#target(placed.target, cell, at);
    if (placed.items > 0) return itemsOf(cell).map((item) => this.mapped(String(item), note));
    if (placed.column.isArray) return itemsOf(cell).map((item) => this.#item(item, placed, note));
    if (placed.type === "json") return this.json(cell, note);
    // A default may have another case of the empty text: an empty text breaks rules that null does not break.
    if (cell === "" && (field.unique !== undefined || field.format !== undefined)) return null;
    return this.#scalar(cell, placed, note);
  }

  #item(item: Item, placed: PlacedColumn, note: NoteInField): JsonValue {
    if (Array.isArray(item)) return item.map((each) => this.#item(each, placed, note));
    if (item === null) return null;
    if (/^jsonb?$/.test(placed.sqlType)) return this.json(item, note);
    if (placed.sqlType === "boolean") return item === "t";
    if (/^(?:smallint|integer|bigint|numeric|real|double precision)$/.test(placed.sqlType)) {
      const isExact = Number.isFinite(Number(item)) && (!/^-?\d+$/.test(item) || Number.isSafeInteger(Number(item)));
      if (isExact) return Number(item);
      note("a number in JSON that no double holds, which becomes a text");
      return item;
    }
    return this.mapped(item, note);
  }

  #scalar(cell: string, { type, sqlType }: PlacedColumn, note: NoteInField): JsonValue {
    const unknown = (): null => {
      note("a number or a time that Socle does not know, which becomes null");
      return null;
    };
    switch (type) {
      case "boolean":
        return cell === "t";
      case "integer":
        return Number(cell);
      case "float":
        if (!Number.isFinite(Number(cell))) return unknown();
        if (sqlType === "numeric" && !isExact(cell)) note("a number that no double holds, which is rounded");
        return Number(cell);
      case "datetime":
        return parseDatetime(cell) ?? unknown();
      default:
        return this.mapped(sqlType === "character" ? cell.trimEnd() : cell, note);
    }
  }

  /** The id of a target, also of a target that is gone. */
  #target(
    target: PlacedTable,
    key: string,
    { field, note }: { field: FieldDefinition; note: NoteInField },
  ): string | null {
    if (this.#world.dump.rows.has(target.copied.id, key)) return target.idFor(key);
    return danglingId(target.idFor(key), this.#choices, { field, note });
  }

  json(cell: string, note: NoteInField): JsonValue {
    return jsonOf(cell, note, (text) => this.mapped(text, note));
  }

  /** A text that is an id is the new id; the address of a file is the new address. */
  mapped(text: string, note: NoteInField): string {
    if (uuidForm.test(text)) return this.#world.holderOf(text)?.idFor(text) ?? text;
    const [, bucket = "", path = ""] = this.#files === undefined ? [] : (address.exec(text) ?? []);
    if (bucket !== "") {
      const key = this.#keyOf(decoded(bucket), decoded(path));
      if (key !== null) return `/api/storage/${this.#files?.fileIdFor(key)}`;
      note("an address of a file that no record has, which stays");
    }
    return textOf(text, note);
  }

  /** The key of a file that can be moved; null for another file. */
  #keyOf(bucket: string, path: string): string | null {
    const [bucketAt, pathAt] = this.#places;
    const wanted = new Map([
      [bucketAt, bucket],
      [pathAt, path],
    ]);
    const [row] = this.#files === undefined ? [] : this.#world.dump.rows.find(this.#files.copied.id, wanted);
    return row !== undefined && this.filesOf(row).length > 0 ? row.key : null;
  }

  /** The file of a row of files that can be moved. */
  filesOf(row: StoredRow): MovedFile[] {
    const file = movableFile(this.#file(row));
    return file === null ? [] : [file];
  }

  #file({ key, cells }: StoredRow): MovedFile | null {
    const [bucket, path] = this.#places.map((at) => cells[at] ?? "") as [string, string];
    if (this.#folder === null || this.#files === undefined) return null;
    const found = storedFile(this.#folder, bucket, path);
    if (found === null) return null;
    const isPublic = this.#publicBuckets.has(bucket);
    const encoded = path.split("/").map(encodeURIComponent).join("/");
    return {
      ...{ ...found, id: this.#files.fileIdFor(key), visibility: isPublic ? "public" : "record" },
      addresses: [
        `/storage/v1/object/${isPublic ? "public" : "authenticated"}/${encodeURIComponent(bucket)}/${encoded}`,
      ],
    };
  }
}

/** Whether a double holds a decimal number of so many digits. */
function isExact(text: string): boolean {
  return text.replace(/^-?0*\.?0*|\./g, "").replace(/0+$/, "").length <= 15;
}
