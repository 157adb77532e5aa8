/** Definitions in JSON: the reader of a text checks the shape, with the position of each mistake, and the form takes the definition over. */
import {
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  type AttributeForm,
  type ChangedDefinition,
  DEFINITION_ATTRIBUTES,
  FIELD_TYPES,
  hasForm,
  type IndexDefinition,
  type JsonValue,
  OPERATIONS,
  type Permissions,
} from "@socle/protocol";
import { isObject } from "../../../kit/diff.ts";
import type { Mistake, Path } from "../../../kit/json-editor/index.ts";
import { text } from "../../../texts/index.ts";
import {
  type FieldDraft,
  fieldDraft,
  indexDraft,
  isPlaceholder,
  noPermissions,
  othersOf,
  refsOf,
  type SchemaDraft,
  type WrittenField,
} from "../draft/draft.ts";

type WrittenDefinition = ChangedDefinition;

export type Reading =
  | { readonly definition: WrittenDefinition; readonly mistakes: readonly Mistake[] }
  | { readonly definition: null; readonly mistakes: readonly Mistake[] };

const words = text.schema.json;
function areTexts(value: JsonValue): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** The attributes of a field, with their forms. */
const attributes: readonly (readonly [name: string, form: AttributeForm])[] = [
  ...ATTRIBUTE_NAMES.map((name) => [name, ATTRIBUTES[name].form] as const),
  ["renamedFrom", "formerName"],
];

function isOfForm(form: AttributeForm, value: JsonValue): boolean {
  return form === "rules"
    ? isObject(value) && areTexts(Object.values(value).filter((rule) => rule !== null))
    : hasForm(form, value);
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
    for (const key of Object.keys(value))
      if (key === "query" || key === "reads") this.#report([key], words.view);
      else if (!DEFINITION_ATTRIBUTES.includes(key)) this.#report([key], words.unknownKey(key));
    const { name, fields, permissions, indexes, search, history = null, trash = null } = value;
    if (typeof name === "string") definition.name = name;
    else this.#report(name === undefined ? [] : ["name"], words.noName);
    if (Array.isArray(fields)) definition.fields = fields.flatMap((field, i) => this.#field(field, ["fields", i]));
    else this.#report(fields === undefined ? [] : ["fields"], words.noFields);
    if (permissions !== undefined && permissions !== null) definition.permissions = this.#permissions(permissions);
    if (indexes !== undefined && indexes !== null) definition.indexes = this.#indexes(indexes);
    if (search !== undefined && search !== null) definition.search = this.#search(search);
    if (isObject(history) && typeof history["read"] === "string")
      definition.history = { ...history, read: history["read"] };
    else if (history !== null) this.#report(["history"], words.history);
    if (typeof trash === "string") definition.trash = trash;
    else if (trash !== null) this.#report(["trash"], words.trash);
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
    for (const [key, form] of attributes) {
      // Null is an absent attribute.
      const given = value[key] ?? undefined;
      if (given !== undefined && !isOfForm(form, given)) this.#report([...path, key], words.forms[form](key));
    }
    const known = FIELD_TYPES.find((each) => each === type);
    if (known === undefined)
      this.#report(type === undefined ? path : [...path, "type"], words.type(FIELD_TYPES.join(", ")));
    if (typeof name !== "string" || known === undefined || this.mistakes.length > before) return [];
    const given = Object.entries(value).filter(([key, each]) => each !== null || key === "renamedFrom");
    return [{ ...Object.fromEntries(given), name, type: known }];
  }

  #permissions(value: JsonValue): Permissions {
    const permissions: Permissions = {};
    if (!isObject(value)) {
      this.#report(["permissions"], words.permissions);
      return permissions;
    }
    for (const [key, rule] of Object.entries(value).filter(([, each]) => each !== null)) {
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
        this.#report([...path, "unique"], words.forms.boolean("unique"));
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

/** The field of the draft for each field of the JSON. */
function matches(written: readonly WrittenField[], draft: SchemaDraft): Map<WrittenField, FieldDraft> {
  const found = new Map<WrittenField, FieldDraft>();
  const free = new Set(draft.fields.filter((field) => !isPlaceholder(field)));
  const match = (isIt: (field: WrittenField, candidate: FieldDraft) => boolean): void => {
    for (const field of written) {
      if (found.has(field)) continue;
      const candidate = [...free].find((each) => isIt(field, each));
      if (candidate === undefined) continue;
      found.set(field, candidate);
      free.delete(candidate);
    }
  };
  match((field, { stored }) => typeof field.renamedFrom === "string" && stored?.name === field.renamedFrom);
  match((field, { isDropped, name }) => !isDropped && name.trim() === field.name);
  match((field, { stored, type }) => stored?.name === field.name && type === field.type);
  // A single missing field and a single added field of the same type are a rename, as for the service.
  const came = written.filter((field) => !found.has(field));
  const went = [...free].filter(({ isDropped }) => !isDropped);
  const [only, old] = [came[0], went[0]];
  const isRename = came.length === 1 && went.length === 1 && only?.renamedFrom !== null && only?.type === old?.type;
  if (isRename && only !== undefined && old !== undefined) found.set(only, old);
  return found;
}

/** The draft with the definition of a JSON text. Stored fields missing in the text are marked as dropped. */
export function withDefinition(draft: SchemaDraft, definition: WrittenDefinition): SchemaDraft {
  const found = matches(definition.fields, draft);
  let nextKey = draft.nextKey;
  const fields = definition.fields.map((field) => {
    const old = found.get(field);
    if (old !== undefined) return fieldDraft(old.key, field, old.stored);
    const key = `#${nextKey}`;
    nextKey += 1;
    return fieldDraft(key, field, null);
  });
  const kept = new Set(fields.map(({ key }) => key));
  for (const [place, field] of draft.fields.entries())
    if (field.stored !== null && !kept.has(field.key)) fields.splice(place, 0, { ...field, isDropped: true });
  const refs = refsOf(fields);
  const indexes = (definition.indexes ?? []).map((index, i) => indexDraft(`#${nextKey + i}`, index, refs));
  return {
    name: definition.name,
    fields,
    permissions: { ...noPermissions, ...definition.permissions },
    indexes,
    search: (definition.search ?? []).map(refs),
    others: othersOf(definition),
    nextKey: nextKey + indexes.length,
  };
}
