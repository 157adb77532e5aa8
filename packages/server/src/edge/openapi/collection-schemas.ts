/** Schemas of a collection: the record, and the bodies that create and change a record. */
import {
  boundsOf,
  type CollectionDefinition,
  type FieldDefinition,
  isAccountField,
  isUnique,
  isView,
  type Operation,
  USERS,
} from "@socle/protocol";
import { quote } from "../../base/kernel/index.ts";
import { maxItemsOf, type OperatorName, typeOf } from "../../data/fields/index.ts";
import { arrayOf, freeObject, integer, mapOf, orNull, ref, type Schema, string, time } from "./schema.ts";

/** Of a list of the trash: the times of each record, by id. */
const deletedTimes = mapOf({ type: "object", properties: { at: time, until: time }, required: ["at", "until"] });

/** A collection as a reader of the document may know the collection. */
export interface DescribedCollection {
  readonly definition: CollectionDefinition;
  /** The operations that some caller like the reader may do. */
  readonly operations: ReadonlySet<Operation | "history">;
  /** The fields that no caller like the reader may read, or write. */
  readonly unread: ReadonlySet<string>;
  readonly unwritten: ReadonlySet<string>;
  /** Whether the reader may know that a collection is there. */
  readonly knows: (collection: string) => boolean;
  /** Whether the reader is an admin, who may also set the owner. */
  readonly isForAdmins: boolean;
}

/** The fields of every record. The fields of a view are those of its query. */
function systemFieldsOf({ definition }: DescribedCollection): Properties {
  return isView(definition) ? { id: string } : systemFields;
}

type Mode = "record" | "create" | "update";
type Properties = { [name: string]: Schema };

const systemFields: Properties = {
  id: { type: "string", readOnly: true },
  createdAt: { ...time, readOnly: true },
  updatedAt: { ...time, readOnly: true },
};

/** A pattern that JSON Schema, which takes the patterns of ECMAScript, can hold; null for another. */
function patternOf(regex: string): string | null {
  try {
    new RegExp(regex, "u");
    return regex;
  } catch {
    return null;
  }
}

function targetNote(target: string, knows: DescribedCollection["knows"]): string {
  return knows(target) ? `The id of a record of ${target}.` : "The id of a record.";
}

function noteOf(field: FieldDefinition, { knows }: DescribedCollection): string | null {
  const notes = [
    field.collection === undefined ? typeOf(field).typescript.note : targetNote(field.collection, knows),
    field.owner === true ? "The owner." : undefined,
    field.unique === "nocase" ? "Unique without regard to case." : isUnique(field) ? "Unique." : undefined,
    field.format === "markdown" ? "Markdown." : undefined,
    field.sequence === undefined ? undefined : "Numbered by the service.",
    field.regex !== undefined && patternOf(field.regex) === null ? `Matches ${field.regex} (RE2).` : undefined,
    field.default === undefined ? undefined : `By default ${quote(field.default)}.`,
  ];
  const text = notes.filter((note) => note !== undefined).join(" ");
  return text === "" ? null : text;
}

/** The bounds and the pattern of a single value. */
function rulesOf(field: FieldDefinition, mode: Mode): Schema {
  // The rules may be newer than the value.
  if (mode === "record") return {};
  const { min, max, regex, required, format } = field;
  const bounds = boundsOf({ type: field.type });
  const pattern = regex === undefined ? null : patternOf(regex);
  const least = bounds === "length" && required === true ? Math.max(min ?? 1, 1) : min;
  const [minName, maxName] = bounds === "length" ? ["minLength", "maxLength"] : ["minimum", "maximum"];
  const isBounded = bounds !== null && field.multiple !== true;
  return {
    ...(isBounded && least !== undefined && { [minName]: least }),
    ...(isBounded && max !== undefined && { [maxName]: max }),
    ...(pattern !== null && { pattern }),
    ...((format === "email" || format === "url") && { format: format === "url" ? "uri" : format }),
  };
}

/** A value that is neither null nor several. */
function singleOf(field: FieldDefinition, mode: Mode): Schema {
  if (field.values !== undefined) return { type: "string", enum: [...field.values] };
  const { schema } = typeOf({ ...field, multiple: false });
  // A date is answered as a time.
  if (field.type === "datetime" && mode !== "record") return { anyOf: [time, { type: "string", format: "date" }] };
  return { ...schema, ...rulesOf(field, mode) };
}

function valuesOf(field: FieldDefinition, mode: Mode): Schema {
  if (field.multiple !== true) return singleOf(field, mode);
  const { min } = field;
  const bounds = mode === "record" ? {} : { ...(min !== undefined && { minItems: min }), maxItems: maxItemsOf(field) };
  return { ...arrayOf(singleOf(field, mode)), uniqueItems: true, ...bounds };
}

/** Operators in the place of a value, in an update. */
function operatorsOf(field: FieldDefinition): Schema[] {
  const { operators } = typeOf(field);
  if (operators.length === 0) return [];
  const operandOf = (operator: OperatorName): Schema =>
    operator === "$increment" ? { type: "number" } : arrayOf(singleOf(field, "update"));
  const properties = Object.fromEntries(operators.map((operator) => [operator, operandOf(operator)]));
  return [{ type: "object", properties, minProperties: 1, additionalProperties: false }];
}

/** Whether a record may lack a value of a required field: an anonymous user has no email, and a user who was made without a form lacks the field. */
function mayBeOpen({ name }: CollectionDefinition, field: FieldDefinition): boolean {
  return name === USERS && (field.name === "email" || !isAccountField(name, field.name));
}

function fieldOf(collection: DescribedCollection, field: FieldDefinition, mode: Mode): Schema {
  const isFilled = field.required === true && !(mode === "record" && mayBeOpen(collection.definition, field));
  const isNeverNull = isFilled || field.multiple === true || field.sequence !== undefined || field.type === "json";
  const value = isNeverNull ? valuesOf(field, mode) : orNull(valuesOf(field, mode));
  const operators = mode === "update" ? operatorsOf(field) : [];
  const schema = operators.length === 0 ? value : { anyOf: [value, ...operators] };
  const note = noteOf(field, collection);
  return note === null ? schema : { ...schema, description: note };
}

function recordOf(collection: DescribedCollection): Schema {
  const { definition, unread } = collection;
  const fields = definition.fields.filter(({ name }) => !unread.has(name));
  const properties = { ...systemFieldsOf(collection), ...propertiesOf(collection, fields, "record") };
  // A field with a rule is absent for a caller who may not read the value.
  const always = fields.filter(({ permissions }) => permissions?.read === undefined).map(({ name }) => name);
  return {
    type: "object",
    // Members that parameters ask for.
    properties: {
      ...properties,
      expand: freeObject,
      ...(definition.search !== undefined && { snippet: mapOf(string) }),
    },
    required: [...Object.keys(systemFieldsOf(collection)), ...always],
  };
}

function propertiesOf(collection: DescribedCollection, fields: readonly FieldDefinition[], mode: Mode): Properties {
  return Object.fromEntries(fields.map((field) => [field.name, fieldOf(collection, field, mode)]));
}

/** The fields that a body may set. */
function writableOf({ definition, unwritten, isForAdmins }: DescribedCollection): FieldDefinition[] {
  return definition.fields.filter(
    ({ name, sequence, owner }) =>
      !unwritten.has(name) &&
      sequence === undefined &&
      !isAccountField(definition.name, name) &&
      (owner !== true || isForAdmins),
  );
}

function creationOf(collection: DescribedCollection): Schema {
  const fields = writableOf(collection);
  const needed = fields.filter(
    (field) => field.required === true && field.default === undefined && field.owner !== true,
  );
  return {
    type: "object",
    properties: propertiesOf(collection, fields, "create"),
    ...(needed.length > 0 && { required: needed.map(({ name }) => name) }),
    additionalProperties: false,
  };
}

/** The body of an update. An answer of a read can be sent back, so the values that stay may stand in the body, too. */
function changeOf(collection: DescribedCollection): Schema {
  const { definition, unread } = collection;
  const writable = writableOf(collection);
  const fixed = definition.fields.filter((field) => !writable.includes(field) && !unread.has(field.name));
  const shown = Object.entries(propertiesOf(collection, fixed, "record"));
  return {
    type: "object",
    properties: {
      ...systemFields,
      ...Object.fromEntries(shown.map(([name, schema]) => [name, { ...schema, readOnly: true }])),
      ...propertiesOf(collection, writable, "update"),
    },
    additionalProperties: false,
  };
}

/** The fields by which an upsert may find a record. Users are created by a registration. */
export function uniqueFieldsOf({ definition, unread }: DescribedCollection): string[] {
  if (definition.name === USERS) return [];
  return definition.fields.filter((field) => isUnique(field) && !unread.has(field.name)).map(({ name }) => name);
}

/** The body of an upsert, which a create and an update take. */
function upsertOf(collection: DescribedCollection): Schema {
  const properties = propertiesOf(collection, writableOf(collection), "update");
  return { type: "object", properties, additionalProperties: false };
}

/** The answer to a write for a caller who may not read the record: the fields of the body, and the system fields. */
function writtenOf(collection: DescribedCollection): Schema {
  const properties = { ...systemFields, ...propertiesOf(collection, writableOf(collection), "record") };
  return { type: "object", properties, required: Object.keys(systemFields) };
}

/** The schemas of a collection, by name in the components. The names of all other schemas have no dot. */
export function collectionSchemas(collection: DescribedCollection): { [name: string]: Schema } {
  const { definition, operations } = collection;
  const named = (kind: string): string => `${definition.name}.${kind}`;
  const canRead = operations.has("read");
  return {
    [named("record")]: canRead ? recordOf(collection) : writtenOf(collection),
    ...(canRead && {
      [named("list")]: {
        type: "object",
        properties: {
          items: arrayOf(ref(named("record"))),
          nextCursor: orNull(string),
          total: integer,
          ...(collection.definition.trash !== undefined && { deleted: deletedTimes }),
        },
        required: ["items"],
      },
    }),
    ...(operations.has("create") && { [named("create")]: creationOf(collection) }),
    ...(operations.has("update") && {
      [named("update")]: changeOf(collection),
      [named("upsert")]: upsertOf(collection),
    }),
  };
}
