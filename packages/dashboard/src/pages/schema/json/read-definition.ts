/** The reader of a definition in JSON: checks the shape, with the position of each mistake. The draft's checks test the meaning. */
import {
  type CollectionDefinition,
  FIELD_TYPES,
  type FieldDefinition,
  type IndexDefinition,
  type JsonValue,
  OPERATIONS,
  type Permissions,
  type Rule,
} from "@socle/protocol";
import type { Mistake, Path } from "../../../kit/json-editor/index.ts";
import { text } from "../../../texts/index.ts";

/** A field in the JSON text, which may name the field's old name. */
export type WrittenField = FieldDefinition & { readonly renamedFrom?: string | null };

export interface WrittenDefinition extends CollectionDefinition {
  fields: WrittenField[];
}

export type Reading =
  | { readonly definition: WrittenDefinition; readonly mistakes: readonly Mistake[] }
  | { readonly definition: null; readonly mistakes: readonly Mistake[] };

interface JsonObject {
  [key: string]: JsonValue;
}

const words = text.schema.json;
const definitionKeys = ["$schema", "name", "fields", "permissions", "indexes", "search"];
const booleans = ["required", "unique", "owner", "multiple"] as const;
const numbers = ["min", "max"] as const;
const texts = ["regex", "collection"] as const;

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Collects mistakes. Each method answers null after a mistake. */
class Reader {
  readonly mistakes: Mistake[] = [];
  definition(value: JsonValue): WrittenDefinition {
    const definition: WrittenDefinition = { name: "", fields: [] };
    if (!isObject(value)) {
      this.#report([], words.notObject);
      return definition;
    }
    for (const key of Object.keys(value)) if (!definitionKeys.includes(key)) this.#report([key], words.unknownKey(key));
    const { name, fields, permissions, indexes, search } = value;
    if (typeof name === "string") definition.name = name;
    else this.#report(name === undefined ? [] : ["name"], words.noName);
    if (Array.isArray(fields)) definition.fields = fields.flatMap((field, i) => this.#field(field, ["fields", i]));
    else this.#report(fields === undefined ? [] : ["fields"], words.noFields);
    if (permissions !== undefined && permissions !== null) definition.permissions = this.#permissions(permissions);
    if (indexes !== undefined && indexes !== null) definition.indexes = this.#indexes(indexes);
    if (search !== undefined && search !== null) definition.search = this.#search(search);
    return definition;
  }

  #report(path: Path, message: string): void {
    this.mistakes.push({ path, message });
  }

  #field(value: JsonValue, path: Path): WrittenField[] {
    if (!isObject(value)) {
      this.#report(path, words.fieldNotObject);
      return [];
    }
    const { name, type } = value;
    const before = this.mistakes.length;
    if (typeof name !== "string") this.#report(name === undefined ? path : [...path, "name"], words.fieldName);
    for (const key of booleans) this.#expect(value, [...path, key], { kind: "boolean", message: words.boolean(key) });
    for (const key of numbers) this.#expect(value, [...path, key], { kind: "number", message: words.number(key) });
    for (const key of texts) this.#expect(value, [...path, key], { kind: "string", message: words.string(key) });
    const { values } = value;
    const isList = Array.isArray(values) && values.every((each) => typeof each === "string");
    if (values !== undefined && !isList) this.#report([...path, "values"], words.values);
    const { permissions = null } = value;
    const areRules = isObject(permissions) && Object.values(permissions).every((rule) => typeof rule === "string");
    if (permissions !== null && !areRules) this.#report([...path, "permissions"], words.fieldRules);
    const { sequence } = value;
    const isScope = Array.isArray(sequence) && sequence.every((each) => typeof each === "string");
    if (sequence !== undefined && sequence !== true && !isScope) this.#report([...path, "sequence"], words.sequence);
    const { renamedFrom = null } = value;
    if (renamedFrom !== null && typeof renamedFrom !== "string")
      this.#report([...path, "renamedFrom"], words.string("renamedFrom"));
    const known = FIELD_TYPES.find((each) => each === type);
    if (known === undefined)
      this.#report(type === undefined ? path : [...path, "type"], words.type(FIELD_TYPES.join(", ")));
    if (typeof name !== "string" || known === undefined || this.mistakes.length > before) return [];
    return [{ ...value, name, type: known }];
  }

  #expect(object: JsonObject, path: Path, { kind, message }: { kind: string; message: string }): void {
    const value = object[String(path.at(-1))];
    if (value !== undefined && typeof value !== kind) this.#report(path, message);
  }

  #permissions(value: JsonValue): Permissions {
    const permissions: Permissions = {};
    if (!isObject(value)) {
      this.#report(["permissions"], words.permissions);
      return permissions;
    }
    for (const [key, rule] of Object.entries(value)) {
      const operation = OPERATIONS.find((each) => each === key);
      if (operation === undefined) {
        this.#report(["permissions", key], words.operation(OPERATIONS.join(", ")));
        continue;
      }
      const known = this.#rule(rule);
      if (known === null) this.#report(["permissions", key], words.rule);
      else permissions[operation] = known;
    }
    return permissions;
  }

  /** A word for a rule, or an expression, which the service checks. */
  #rule(rule: JsonValue): Rule | null {
    return typeof rule === "string" && rule !== "" ? rule : null;
  }

  #search(value: JsonValue): string[] {
    const names = Array.isArray(value) ? value.filter((name) => typeof name === "string") : null;
    if (names === null || !Array.isArray(value) || names.length < value.length) this.#report(["search"], words.search);
    return names ?? [];
  }

  #indexes(value: JsonValue): IndexDefinition[] {
    if (!Array.isArray(value)) {
      this.#report(["indexes"], words.indexes);
      return [];
    }
    return value.flatMap((index, i): IndexDefinition[] => {
      const path = ["indexes", i];
      const fields = Array.isArray(index) ? index : isObject(index) ? index["fields"] : undefined;
      const unique = isObject(index) ? index["unique"] : undefined;
      if (!Array.isArray(fields)) this.#report(path, words.index);
      else if (unique !== undefined && typeof unique !== "boolean")
        this.#report([...path, "unique"], words.boolean("unique"));
      else if (fields.some((name) => typeof name !== "string")) this.#report(path, words.index);
      else return [{ fields: fields.filter((name) => typeof name === "string"), ...(unique === true && { unique }) }];
      return [];
    });
  }
}

/** Reads the value of a JSON text. With mistakes the definition is null, and the form keeps its definition. */
export function readDefinition(value: JsonValue): Reading {
  const reader = new Reader();
  const definition = reader.definition(value);
  return { definition: reader.mistakes.length === 0 ? definition : null, mistakes: reader.mistakes };
}
