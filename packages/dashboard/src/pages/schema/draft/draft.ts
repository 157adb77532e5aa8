/**
 * The draft of a collection: its definition in the form. Numbers stay as typed text. A field keeps its key and its stored
 * definition when its name changes. A stored field that the user drops stays in the list, marked as dropped.
 */
import {
  type AttributeName,
  attributesFor,
  type ChangedField,
  type CollectionDefinition,
  FIELD_OPERATIONS,
  type FieldDefinition,
  type FieldOperation,
  type FieldType,
  type IndexDefinition,
  isUnique,
  type JsonValue,
  type OnDelete,
  OPERATIONS,
  type Operation,
  type Rule,
  SCOPE_TYPES,
  type TextFormat,
  USERS,
  type VectorMetric,
} from "@socle/protocol";
import { defaultText, defaultValue } from "./defaults.ts";
import { isMultiple, numberOf, valuesOf } from "./rules.ts";

/** The rules of a field; null for an operation without a rule of the field. */
type FieldPermissionDraft = { readonly [operation in FieldOperation]: Rule | null };

export interface FieldDraft {
  /** The key of the field in the draft; no field name contains a "#". */
  readonly key: string;
  /** The definition that the service stores; null for a new field. */
  readonly stored: FieldDefinition | null;
  readonly isDropped: boolean;
  readonly name: string;
  readonly type: FieldType;
  /** Whether the user chose the type of a new field. */
  readonly isTypeChosen: boolean;
  readonly isRequired: boolean;
  readonly isUnique: boolean;
  /** Whether texts that differ in case alone are equal in a unique field. */
  readonly ignoresCase: boolean;
  /** The form of a text; "any" for every text. */
  readonly format: TextFormat | "any";
  readonly min: string;
  readonly max: string;
  readonly regex: string;
  /** The count of the numbers of a vector, as typed. */
  readonly dimensions: string;
  readonly metric: VectorMetric;
  readonly collection: string;
  readonly isOwner: boolean;
  /** Whether a value is an array of items. Without a meaning for most types. */
  readonly isMultiple: boolean;
  /** The allowed texts, a text per line. */
  readonly values: string;
  /** The former name of a renamed value, by the new name. */
  readonly renamedValues: { readonly [value: string]: string };
  /** The action for a record when the relation's target is deleted; null leaves the record unchanged. */
  readonly onDelete: OnDelete | null;
  /** The names of the fields that group the records for numbering; empty to number all records together, null without a sequence. */
  readonly sequence: readonly string[] | null;
  /** The default as typed; null without a default. */
  readonly default: string | null;
  /** Rules of the field; null adds no rule to the rules of the record. */
  readonly permissions: FieldPermissionDraft;
  /** Attributes that the dashboard does not know. The change sends the attributes back unchanged. */
  readonly extra: { readonly [attribute: string]: JsonValue };
}

export interface IndexDraft {
  readonly key: string;
  /** Keys of fields; names, if no field has the name: createdAt, updatedAt, a mistake. */
  readonly refs: readonly string[];
  readonly isUnique: boolean;
}

/** A rule for each operation; null takes the rule of the operation before. A rule may be an expression. */
export type PermissionDraft = { readonly [operation in Operation]: Rule | null };

export interface SchemaDraft {
  readonly name: string;
  readonly fields: readonly FieldDraft[];
  readonly permissions: PermissionDraft;
  readonly indexes: readonly IndexDraft[];
  /** The searched fields: keys, or names if no field has the name. */
  readonly search: readonly string[];
  /** Parts of the definition that follow no rename of a field. */
  readonly others: OtherParts;
  /** The number of the next key. */
  readonly nextKey: number;
}

export type OtherParts = Pick<CollectionDefinition, "history" | "trash">;

export function othersOf({ history, trash }: OtherParts): OtherParts {
  return { ...(history !== undefined && { history }), ...(trash !== undefined && { trash }) };
}

export const noPermissions: PermissionDraft = { read: null, create: null, update: null, delete: null };

/** Safe rules for a first collection: no access without an account, and users change only their own records. */
export const defaultPermissions: PermissionDraft = {
  read: "authenticated",
  create: "authenticated",
  update: "owner",
  delete: "owner",
};

export function newField(key: string, type: FieldType = "string"): FieldDraft {
  return { ...fieldDraft(key, { name: "", type }, null), isTypeChosen: false };
}

/** A field of a definition, or of a JSON text, which may name the field's old name. */
export type WrittenField = ChangedField;

/** A field in the form of the draft. */
export function fieldDraft(key: string, field: WrittenField, stored: FieldDefinition | null): FieldDraft {
  const { name, type, required, unique, min, max, regex, format, ...others } = field;
  const { collection, owner, multiple, values, dimensions, metric, ...rest } = others;
  const { default: given, onDelete, permissions, sequence, renamedFrom: _, convertedFrom: __, ...extra } = rest;
  const isSeveral = multiple === true;
  const written = (values ?? []).map((value) => (typeof value === "string" ? { name: value } : value));
  const renamed = written.flatMap(({ name: to, renamedFrom: from }) => (typeof from === "string" ? [[to, from]] : []));
  return {
    key,
    stored,
    isDropped: false,
    name,
    type,
    isTypeChosen: true,
    isRequired: required === true,
    isUnique: isUnique(field),
    ignoresCase: unique === "nocase",
    format: format ?? "any",
    min: String(min ?? ""),
    max: String(max ?? ""),
    regex: regex ?? "",
    dimensions: String(dimensions ?? ""),
    metric: metric ?? "cosine",
    collection: collection ?? "",
    isOwner: owner === true,
    isMultiple: isSeveral,
    values: written.map((value) => value.name).join("\n"),
    renamedValues: Object.fromEntries(renamed),
    default: given === undefined ? null : defaultText({ type, isMultiple: isSeveral }, given),
    onDelete: onDelete ?? null,
    permissions: { read: null, update: null, ...permissions },
    sequence: sequence === true ? [] : (sequence ?? null),
    extra,
  };
}

/** The draft of a definition. With `isStored`, its fields are stored in the service; otherwise all fields are new. */
export function draftOf(definition: CollectionDefinition, isStored: boolean): SchemaDraft {
  const fields = definition.fields.map((field, i) => fieldDraft(`#${i + 1}`, field, isStored ? field : null));
  const refs = refsOf(fields);
  const indexes = (definition.indexes ?? []).map((index, i) => indexDraft(`#${fields.length + i + 1}`, index, refs));
  const permissions = { ...noPermissions, ...definition.permissions };
  const search = (definition.search ?? []).map(refs);
  const [others, nextKey] = [othersOf(definition), fields.length + indexes.length + 1];
  return { name: definition.name, fields, permissions, indexes, search, others, nextKey };
}

/** Translates the field names of indexes and the search: the key of the field with the name, or the name without such a field. */
export function refsOf(fields: readonly FieldDraft[]): (name: string) => string {
  const keys = new Map(fields.filter(({ isDropped }) => !isDropped).map(({ name, key }) => [name, key]));
  return (name) => keys.get(name) ?? name;
}

export function indexDraft(key: string, index: IndexDefinition, refs: (name: string) => string): IndexDraft {
  const { fields, unique } = Array.isArray(index) ? { fields: index, unique: false } : index;
  return { key, refs: fields.map(refs), isUnique: unique === true };
}

/** An empty new field: a row to type into, not part of the definition. */
export function isPlaceholder(field: FieldDraft): boolean {
  return field.stored === null && field.name.trim() === "" && !hasOptions(field);
}

function hasOptions(field: FieldDraft): boolean {
  const { isRequired, isUnique: isOnly, isOwner, isMultiple: isSeveral, min, max, regex, collection, values } = field;
  if (field.format !== "any") return true;
  const isTyped = [min, max, regex, collection, values, field.dimensions].some((value) => value !== "");
  return isRequired || isOnly || isOwner || isSeveral || isTyped || field.default !== null || hasRules(field);
}

/** Whether a field has its own rules. */
function hasRules({ permissions }: Pick<FieldDraft, "permissions">): boolean {
  return FIELD_OPERATIONS.some((operation) => permissions[operation] !== null);
}

/** The rules that are set. */
function given<O extends string>(permissions: { readonly [operation in O]: Rule | null }): { [operation in O]?: Rule } {
  // The entries have the operations as their names.
  return Object.fromEntries(Object.entries(permissions).filter(([, rule]) => rule !== null)) as {
    [operation in O]?: Rule;
  };
}

/** The names of the fields that a sequence may count by. */
export function scopesIn(draft: SchemaDraft): string[] {
  return keptFields(draft)
    .filter((field) => SCOPE_TYPES.includes(field.type) && !isMultiple(field))
    .filter(({ type, sequence }) => type !== "integer" || sequence === null)
    .map(({ name }) => name.trim());
}

/** The operations with rules in a definition. Users are made and deleted as accounts. */
export function operationsOf(name: string): readonly Operation[] {
  return name.trim() === USERS ? FIELD_OPERATIONS : OPERATIONS;
}

/** The rules that the service adds to a definition of users: by default, users read and change themselves. */
export function rulesOfUsers({ read, update }: PermissionDraft): PermissionDraft {
  return { read: read ?? "owner", create: "admin", update: update ?? "owner", delete: "admin" };
}

/** The fields of the future definition. */
export function keptFields(draft: SchemaDraft): readonly FieldDraft[] {
  return draft.fields.filter((field) => !field.isDropped && !isPlaceholder(field));
}

/** The attributes of a field that the form sets, whether or not the field may have them. An owner has no default. */
function setAttributes(field: FieldDraft): FieldDefinition {
  const { type, collection, onDelete, sequence, permissions, regex } = field;
  const [min, max, values] = [numberOf(field.min), numberOf(field.max), valuesOf(field)];
  const dimensions = numberOf(field.dimensions);
  const isOwner = type === "relation" && field.isOwner;
  const isText = type === "string" || type === "text";
  return {
    name: field.name.trim(),
    type,
    ...(sequence !== null && { sequence: sequence.length === 0 ? true : [...sequence] }),
    ...(dimensions !== null && { dimensions }),
    ...(field.metric !== "cosine" && { metric: field.metric }),
    ...(collection !== "" && { collection }),
    ...(isOwner && { owner: true }),
    ...(onDelete !== null && { onDelete }),
    ...(field.isMultiple && { multiple: true }),
    ...(field.isRequired && { required: true }),
    ...(field.isUnique && { unique: field.ignoresCase && isText ? "nocase" : true }),
    ...(field.format !== "any" && { format: field.format }),
    ...(min !== null && { min }),
    ...(max !== null && { max }),
    ...(regex !== "" && { regex }),
    ...(values.length > 0 && { values }),
    ...(field.default !== null && !isOwner && { default: defaultValue(field, field.default) }),
    ...(hasRules(field) && { permissions: given(permissions) }),
  };
}

/** The attributes that a field may have beside the attributes that the form sets. */
export function attributesOf(field: FieldDraft): ReadonlySet<AttributeName> {
  const set = setAttributes(field);
  return new Set([...attributesFor(set)].filter((name) => name !== "default" || set.owner === undefined));
}

/** The definition of a field, without the attributes that mean nothing. */
export function fieldOf(field: FieldDraft): FieldDefinition {
  const { name, type, ...attributes } = setAttributes(field);
  const possible: ReadonlySet<string> = attributesOf(field);
  const meant = Object.entries(attributes).filter(([attribute]) => possible.has(attribute));
  return { name, type, ...Object.fromEntries(meant), ...field.extra };
}

/** The name of a field in an index or the search. */
export function refName(draft: SchemaDraft, ref: string): string {
  return draft.fields.find(({ key }) => key === ref)?.name.trim() ?? ref;
}

export function definitionOf(draft: SchemaDraft): CollectionDefinition {
  const operations = operationsOf(draft.name);
  const rules = Object.entries(given(draft.permissions)).filter(([name]) => operations.some((each) => each === name));
  const permissions = Object.fromEntries(rules);
  const indexes = draft.indexes
    .filter(({ refs }) => refs.length > 0)
    .map(({ refs, isUnique }): IndexDefinition => {
      const fields = refs.map((ref) => refName(draft, ref));
      return isUnique ? { fields, unique: true } : fields;
    });
  return {
    name: draft.name.trim(),
    fields: keptFields(draft).map(fieldOf),
    ...(Object.keys(permissions).length > 0 && { permissions }),
    ...(indexes.length > 0 && { indexes }),
    ...(draft.search.length > 0 && { search: draft.search.map((ref) => refName(draft, ref)) }),
    ...draft.others,
  };
}
