/** The reader of a definition in JSON: checks the shape, with the position of each mistake. The draft's checks test the meaning. */
import {
  type CollectionDefinition,
  FIELD_TYPES,
  type FieldDefinition,
  type IndexDefinition,
  type JsonValue,
  OPERATIONS,
  type Permissions,
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

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function areTexts(value: JsonValue): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

interface Attribute {
  readonly message: string;
  readonly isCorrect: (value: JsonValue) => boolean;
}

function attributeOf(type: "boolean" | "number" | "string", name: string): [name: string, attribute: Attribute] {
  return [name, { message: words[type](name), isCorrect: (value) => typeof value === type }];
}

/** The attributes of a field that have a shape. An absent attribute is correct. */
const attributes = new Map<string, Attribute>([
  ...["required", "unique", "owner", "multiple"].map((name) => attributeOf("boolean", name)),
  ...["min", "max"].map((name) => attributeOf("number", name)),
  ...["regex", "collection"].map((name) => attributeOf("string", name)),
  ["values", { message: words.values, isCorrect: areTexts }],
  [
    "permissions",
    {
      message: words.fieldRules,
      isCorrect: (value) => value === null || (isObject(value) && areTexts(Object.values(value))),
    },
  ],
  ["sequence", { message: words.sequence, isCorrect: (value) => value === true || areTexts(value) }],
  [
    "renamedFrom",
    { message: words.string("renamedFrom"), isCorrect: (value) => value === null || typeof value === "string" },
  ],
]);

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
    for (const [key, { message, isCorrect }] of attributes) {
      const given = value[key];
      if (given !== undefined && !isCorrect(given)) this.#report([...path, key], message);
    }
    const known = FIELD_TYPES.find((each) => each === type);
    if (known === undefined)
      this.#report(type === undefined ? path : [...path, "type"], words.type(FIELD_TYPES.join(", ")));
    if (typeof name !== "string" || known === undefined || this.mistakes.length > before) return [];
    return [{ ...value, name, type: known }];
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
      // A word for a rule, or an expression, which the service checks.
      if (typeof rule === "string" && rule !== "") permissions[operation] = rule;
      else this.#report(["permissions", key], words.rule);
    }
    return permissions;
  }

  #search(value: JsonValue): string[] {
    if (areTexts(value)) return value;
    this.#report(["search"], words.search);
    return [];
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
      if (fields === undefined || !areTexts(fields)) this.#report(path, words.index);
      else if (unique !== undefined && typeof unique !== "boolean")
        this.#report([...path, "unique"], words.boolean("unique"));
      else return [{ fields, ...(unique === true && { unique }) }];
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
