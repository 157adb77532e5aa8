/** Values of PocketBase as values of Socle. PocketBase has no null: an empty value is null where Socle would refuse the value. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { CollectionDefinition, FieldDefinition, JsonValue } from "@socle/protocol";
import { isObject } from "../../../base/kernel/index.ts";
import { cleanName } from "../../../files/storage/index.ts";
import type { Choices, MovedFile, NoteInField, NoteOddity } from "../source.ts";
import { danglingId, jsonOf, movableFile, textOf, valuesOf } from "../values.ts";
import type { DataFolder, PbField, PbRow } from "./sql/data-folder.ts";
import { isMultiple, type NewField, type PlacedCollection, type World } from "./world.ts";

/** The form of ids that PocketBase makes: a text of another form that equals an id is a text. */
const idForm = /^[a-z0-9]{15}$/;
const address = /\/api\/files\/([\w-]+)\/([\w-]+)\/([^"'\s?#<>)\\]+)/g;

export function timeOf(text: string): string | null {
  const time = Date.parse(text.replace(" ", "T"));
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** The items of a field, each once: of a stored array, or the only item. */
function itemsOf(raw: unknown, field: PbField): string[] {
  const items: unknown = isMultiple(field) && String(raw).startsWith("[") ? JSON.parse(String(raw)) : raw;
  const texts = Array.isArray(items) ? items.map(String) : [String(items ?? "")];
  return [...new Set(texts)].filter((item) => item !== "");
}

export class RowValues {
  readonly #folder: DataFolder;
  readonly #world: World;
  readonly #choices: Choices;

  constructor(folder: DataFolder, world: World, choices: Choices) {
    this.#folder = folder;
    this.#world = world;
    this.#choices = choices;
  }

  /** The values of a row by a definition, without the values of fields that the definition lacks. */
  of(
    row: PbRow,
    {
      collection,
      definition,
      note,
    }: { collection: PlacedCollection; definition: CollectionDefinition; note: NoteOddity },
  ) {
    return valuesOf(collection.fields, {
      ...{ definition, note },
      read: (placed, at) => this.#value(row[placed.pb.name] ?? null, { ...at, row, collection, placed }),
      place: ({ pb }) => `${collection.pb.name}/${row["id"]}: ${pb.name} is no JSON`,
    });
  }

  #value(raw: unknown, at: Place): JsonValue {
    const { placed, field } = at;
    switch (placed.pb.type) {
      case "number":
        return raw === 0 && isRefused(field, 0) ? null : Number(raw);
      case "bool":
        return Boolean(raw);
      case "date":
      case "autodate":
        return timeOf(String(raw));
      case "json":
      case "geoPoint":
        return this.#json(raw, at);
      case "relation":
        return ofItems(
          field,
          itemsOf(raw, placed.pb).flatMap((id) => this.#target(id, at)),
        );
      case "file":
        return ofItems(field, this.#fileIds(at));
      case "select":
        return ofItems(field, itemsOf(raw, placed.pb));
      default:
        return raw === "" && isEmptyRefused(field) ? null : this.#text(String(raw), at.note);
    }
  }

  /** The id of a target, also of a target that is gone. */
  #target(id: string, { placed, field, note }: Place): string | string[] {
    const collection = this.#world.byId(placed.pb.collectionId);
    if (collection === undefined) return [];
    if (this.#folder.has(collection.pb.name, id)) return collection.idFor(id);
    return danglingId(collection.idFor(id), this.#choices, { field, note }) ?? [];
  }

  /** A text that is an id is the new id; addresses of files are the new addresses. */
  #text(raw: string, note: NoteInField): string {
    const text = textOf(raw, note);
    if (idForm.test(text)) {
      const collection = this.#world.collections.find(({ pb }) => this.#folder.has(pb.name, text));
      return collection === undefined ? text : collection.idFor(text);
    }
    if (!text.includes("/api/files/")) return text;
    return text.replace(address, (...[whole = "", collectionName = "", id = "", name = ""]: string[]) => {
      const collection = this.#world.named(collectionName);
      const isThere = collection !== undefined && this.fileOf(collection, { id, name }) !== null;
      if (!isThere) note("an address of a file that no record has, which stays");
      return isThere ? `/api/storage/${collection.fileIdFor(id, name)}` : whole;
    });
  }

  #json(raw: unknown, { note, placed }: Place): JsonValue {
    if (raw === null || raw === "") return null;
    const text = String(raw);
    if (placed.pb.type === "geoPoint") {
      const { lat = 0, lon = 0 } = JSON.parse(text);
      return { lat, lon };
    }
    return jsonOf(text, note, (each) => this.#text(each, note));
  }

  #fileIds({ row, collection, placed, note }: Place): string[] {
    return itemsOf(row[placed.pb.name], placed.pb).flatMap((name) => {
      const file = movableFile(this.fileOf(collection, { id: String(row["id"]), name }), note);
      return file === null ? [] : [file.id];
    });
  }

  /** The files of a row that can be moved. */
  filesOf(row: PbRow, collection: PlacedCollection): MovedFile[] {
    const ofFields = collection.fields.filter(({ pb }) => pb.type === "file");
    return ofFields.flatMap(({ pb }) =>
      itemsOf(row[pb.name], pb).flatMap((name) => {
        const file = movableFile(this.fileOf(collection, { id: String(row["id"]), name }));
        if (file === null) return [];
        return [{ ...file, visibility: pb.protected === true ? ("record" as const) : ("public" as const) }];
      }),
    );
  }

  /** A stored file; null for a file that is missing. */
  fileOf(
    collection: PlacedCollection,
    { id, name }: { id: string; name: string },
  ): Omit<MovedFile, "visibility"> | null {
    const path = this.#folder.filePath(collection.pb.id, id, name);
    // A name with a path would lead out of the folder.
    const size = basename(name) === name && basename(id) === id ? this.#folder.fileSize(path) : null;
    if (size === null) return null;
    const addresses = [collection.pb.id, collection.pb.name].map((each) => `/api/files/${each}/${id}/${name}`);
    const file = { id: collection.fileIdFor(id, name), path, size, addresses };
    return {
      ...file,
      get filename() {
        return originalName(path) ?? name;
      },
    };
  }
}

interface Place {
  readonly row: PbRow;
  readonly collection: PlacedCollection;
  readonly placed: NewField;
  readonly field: FieldDefinition;
  readonly note: NoteInField;
}

function ofItems(field: FieldDefinition, items: string[]): JsonValue {
  return field.multiple === true ? items : (items[0] ?? null);
}

/** Whether a field refuses a number that PocketBase takes as empty. */
function isRefused({ min = -Infinity, max = Infinity, unique }: FieldDefinition, value: number): boolean {
  return unique !== undefined || value < min || value > max;
}

function isEmptyRefused({ required, unique, min = 0, regex, values, format }: FieldDefinition): boolean {
  return required === true || min > 0 || [unique, regex, values, format].some((rule) => rule !== undefined);
}

/** The name as uploaded, which stands beside the file; null without the name. */
function originalName(path: string): string | null {
  try {
    const attributes: unknown = JSON.parse(readFileSync(`${path}.attrs`, "utf8"));
    const metadata = isObject(attributes) ? attributes["user.metadata"] : null;
    const name = isObject(metadata) ? metadata["original-filename"] : null;
    return typeof name === "string" && cleanName(name) !== "" ? name : null;
  } catch {
    // Without readable attributes, the file has the name of the record.
    return null;
  }
}
