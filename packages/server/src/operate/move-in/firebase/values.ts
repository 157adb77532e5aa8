/** Values of Firestore as values of Socle, and the files of a bucket. */
import { readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { CollectionDefinition, FieldDefinition, JsonValue } from "@socle/protocol";
import { isObject } from "../../../base/kernel/index.ts";
import { type Choices, type MovedFile, movedId, type NoteInField, type NoteOddity } from "../source.ts";
import type { StoredRow } from "../sql/work-rows.ts";
import { danglingId, decoded, jsonOf, movableFile, storedFile, textOf, valuesOf } from "../values.ts";
import { placeOf, typedOf } from "./typed.ts";
import type { FirebaseWorld, MovedCollection, MovedField } from "./world.ts";

/** A whole value that is the address of a file: a download address, or an address as gs://BUCKET/PATH. */
const address =
  /^(?:https?:\/\/firebasestorage\.googleapis\.com\/v0\/b\/([^/?#]+)\/o\/([^?#]+)(?:[?#].*)?|gs:\/\/([^/]+)\/(.+))$/;

export class FirebaseValues {
  readonly #world: FirebaseWorld;
  readonly #choices: Choices;
  /** The folder of the files; null without files. */
  readonly #folder: string | null;

  constructor(world: FirebaseWorld, choices: Choices, folder: string | null) {
    this.#world = world;
    this.#choices = choices;
    this.#folder = folder;
  }

  /** The values of a document by a definition, without the values of fields that the definition lacks. */
  of(
    row: StoredRow,
    { placed, definition, note }: { placed: MovedCollection; definition: CollectionDefinition; note: NoteOddity },
  ): Record<string, JsonValue> {
    const document: unknown = JSON.parse(row.cells[1] ?? "{}");
    const values = isObject(document) ? document : {};
    return valuesOf(placed.fields, {
      ...{ definition, note },
      read: (field, at) => this.#value(this.#given(field, { key: row.key, values }), { ...at, placed: field }),
      place: ({ from }) => `${placed.from}/${row.key}: ${from}`,
    });
  }

  #given({ from, part }: MovedField, { key, values }: { key: string; values: Record<string, unknown> }): unknown {
    switch (part) {
      case "parent":
        return key.slice(0, key.lastIndexOf("/"));
      case "profile":
        return key;
      case "document":
        return values;
      default:
        return Object.hasOwn(values, from) ? values[from] : null;
    }
  }

  #value(given: unknown, at: { placed: MovedField; field: FieldDefinition; note: NoteInField }): JsonValue {
    const { placed, field, note } = at;
    const { kind, value } = typedOf(given);
    if (kind === "null") return placed.items > 0 ? [] : null;
    if (placed.items > 0 && Array.isArray(value))
      return value
        .map((item) => this.#value(item, { ...at, placed: { ...placed, items: 0 } }))
        .filter((item) => item !== null);
    if (placed.target !== null) {
      const path = String(value);
      const key = kind === "reference" ? placeOf(path.split("/")).key : path;
      const id = placed.target.idFor(key);
      return this.#world.has(placed.target, key) ? id : danglingId(id, this.#choices, { field, note });
    }
    if (placed.type === "json") return this.json(given, note);
    if (value === null || (kind === "float" && !Number.isFinite(value))) {
      note("a number or a time that Socle does not know, which becomes null");
      return null;
    }
    if (kind === "reference") return this.#reference(String(value));
    return typeof value === "string" && kind === "text" ? this.mapped(value, note) : (value as JsonValue);
  }

  /** The id of the record of a document; the path of a document that is not there. */
  #reference(path: string): string {
    const { names, key } = placeOf(path.split("/"));
    const target = this.#world.named(names);
    return target !== undefined && this.#world.has(target, key) ? target.idFor(key) : path;
  }

  /** JSON of a value: times, places and references inside as Socle writes them. */
  json(given: unknown, note: NoteInField): JsonValue {
    return this.#plain(
      jsonOf(JSON.stringify(given), note, (text) => this.mapped(text, note)),
      note,
    );
  }

  #plain(given: JsonValue, note: NoteInField): JsonValue {
    const { kind, value } = typedOf(given);
    if (kind === "array") return (value as JsonValue[]).map((item) => this.#plain(item, note));
    if (kind === "map")
      return Object.fromEntries(
        Object.entries(value as Record<string, JsonValue>).map(([name, inner]) => [name, this.#plain(inner, note)]),
      );
    if (kind === "reference") return this.#reference(String(value));
    if ((kind === "float" && !Number.isFinite(value)) || (kind === "time" && value === null)) {
      note("a number or a time that Socle does not know, which becomes null");
      return null;
    }
    return value as JsonValue;
  }

  /** A text that is an id is the new id; the address of a file is the new address. */
  mapped(text: string, note: NoteInField): string {
    const id = this.#world.idOf(text);
    if (id !== null) return id;
    const [, bucket, path, ofBucket, ofPath] = (this.#folder !== null && address.exec(text)) || [];
    const key = bucket === undefined ? `${ofBucket}/${ofPath}` : `${decoded(bucket)}/${decoded(path ?? "")}`;
    if ((bucket ?? ofBucket) === undefined) return textOf(text, note);
    const file = this.file(key);
    if (file !== null) return `/api/storage/${file.id}`;
    note("an address of a file that no record has, which stays");
    return textOf(text, note);
  }

  /** The keys of the files: BUCKET/PATH; a key without "/" is of no bucket. */
  keys(): string[] {
    const folder = this.#folder;
    if (folder === null) return [];
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
      .sort();
  }

  /** The file of a key, if the file can be moved. */
  file(key: string, note?: NoteInField): MovedFile | null {
    const [bucket = "", ...names] = key.split("/");
    const path = names.join("/");
    const found = this.#folder === null ? null : storedFile(this.#folder, bucket, path);
    if (found === null) return null;
    const file: MovedFile = {
      ...{ ...found, id: fileIdFor(key), visibility: "record" },
      addresses: [`/v0/b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(path)}`],
    };
    return movableFile(file, note);
  }
}

const fileIdFor = (key: string): string => movedId("fil", `storage/${key}`, 0);
