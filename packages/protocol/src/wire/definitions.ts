/** Definitions of collections, migrations and trials of rules, as the document has them. */

import { FIELD_TYPES, NAME_PATTERN, ON_DELETE, OPERATIONS, TEXT_FORMATS } from "../collections.ts";
import { VECTOR_METRICS } from "../vector.ts";
import { user } from "./accounts.ts";
import {
  about,
  anything,
  arrayOf,
  boolean,
  constant,
  count,
  either,
  enumOf,
  freeObject,
  integer,
  mapOf,
  type Named,
  named,
  number,
  object,
  only,
  optional,
  orNull,
  string,
  type TypeOf,
  textOf,
  time,
  yes,
} from "./shape.ts";

const name = textOf({ pattern: NAME_PATTERN.source }, (value) => NAME_PATTERN.test(value), "must be a name");
const rule = about(string, "public, authenticated, owner, admin, or an expression of the filter language.");
const operation = enumOf(OPERATIONS);

const field = {
  name,
  type: enumOf(FIELD_TYPES),
  required: optional(boolean),
  min: optional(number),
  max: optional(number),
  regex: optional(string),
  unique: optional(either(boolean, constant("nocase"))),
  format: optional(enumOf(TEXT_FORMATS)),
  dimensions: optional(count),
  metric: optional(enumOf(VECTOR_METRICS)),
  collection: optional(string),
  onDelete: optional(enumOf(ON_DELETE)),
  anyTarget: optional(boolean),
  owner: optional(boolean),
  values: optional(arrayOf(string)),
  multiple: optional(boolean),
  sequence: optional(either(yes, arrayOf(string))),
  default: optional(anything),
  permissions: optional(object({ read: optional(rule), update: optional(rule) })),
};

const index = either(arrayOf(string), object({ fields: arrayOf(string), unique: optional(boolean) }));

const permissions = object({
  read: optional(rule),
  create: optional(rule),
  update: optional(rule),
  delete: optional(rule),
});

const changedValue = either(string, object({ name: string, renamedFrom: optional(orNull(string)) }));

export const fieldDefinition = named("FieldDefinition", () => object(field));

/** `keep`: how long the log keeps the values of changes, for example "90d". */
const history = object({ read: rule, keep: optional(string) });

export const collectionDefinition = named("CollectionDefinition", () =>
  object({
    name,
    /** The SELECT of a view. Absent for a collection with records of its own. */
    query: optional(string),
    fields: arrayOf(fieldDefinition),
    /** The collections that the query of a view reads. */
    reads: optional(arrayOf(string)),
    permissions: optional(permissions),
    /** Indexes beside the automatic indexes of unique fields, relations and the owner. Absent without indexes. */
    indexes: optional(arrayOf(index)),
    /** The fields of type string or text with the words that `?search=` looks for. Absent without searched fields. */
    search: optional(arrayOf(string)),
    /** The callers who may see the changes of a record, beside admins. Absent for admins alone. */
    history: optional(history),
    /** How long a deleted record can be restored, for example "30d". */
    trash: optional(string),
  }),
);

export const changedDefinition = named("ChangedDefinition", () =>
  object({
    name: optional(name),
    /** The former name of the collection. */
    renamedFrom: optional(string),
    /** The SELECT of a view: the service derives `fields` and `reads`, and reads neither in a body. */
    query: optional(string),
    reads: optional(arrayOf(string)),
    fields: optional(
      arrayOf(
        object({
          ...field,
          values: optional(arrayOf(changedValue)),
          renamedFrom: optional(orNull(string)),
          convertedFrom: optional(enumOf(["integer"])),
        }),
      ),
    ),
    permissions: optional(orNull(permissions)),
    indexes: optional(orNull(arrayOf(index))),
    search: optional(orNull(arrayOf(string))),
    history: optional(orNull(history)),
    trash: optional(orNull(string)),
  }),
);

/** Values that a migration dropped and that can be restored (`GET /api/admin/dropped`). */
export const droppedEntry = named("DroppedEntry", () =>
  object({
    id: string,
    collection: name,
    /** Null for a dropped collection. */
    field: orNull(string),
    at: time,
    /** The way of the change: a definition file, or the request. */
    cause: enumOf(["file", "PUT", "DELETE", "schema.json"]),
    /** The number of values, or of the records of a collection. */
    values: count,
  }),
);
export type DroppedEntry = TypeOf<typeof droppedEntry>;

/** A collection in the admin API. */
export const collectionEntry = named("CollectionEntry", () =>
  object({
    name,
    fields: arrayOf(fieldDefinition),
    permissions: orNull(permissions),
    indexes: arrayOf(index),
    /** The stored definition. */
    definition: collectionDefinition,
    createdAt: time,
    updatedAt: time,
    /** The number of records. */
    records: count,
    /** In the answer of a change without `renamedFrom`: the removed and the added field that were taken as a rename. */
    renamed: optional(object({ from: string, to: string })),
    /** In the answer of a change: the dropped values of the fields or the collection that the change adds. */
    restorable: optional(arrayOf(droppedEntry)),
  }),
);

/** The outcome of a restore. */
export const restoredValues = named("RestoredValues", () =>
  object({
    restored: count,
    /** The values whose record is gone, has another value, or must not have the value of another record. */
    left: count,
  }),
);
export type RestoredValues = TypeOf<typeof restoredValues>;

/** All definitions of a service. */
export const schema = named("Schema", () => object({ collections: arrayOf(collectionDefinition) }));

export const changedSchema = named("ChangedSchema", () => object({ collections: arrayOf(changedDefinition) }));

/** The content of a saved view of the records of a collection. Names of fields may be of fields that are gone. */
export const savedViewContent = named("SavedViewContent", () =>
  only({
    filter: optional(string),
    search: optional(string),
    /** As in a list: "-createdAt,title". */
    sort: optional(string),
    /** The columns, in pixels: fields of later come after their neighbours. */
    columns: optional(only({ order: arrayOf(string), hidden: arrayOf(string), widths: mapOf(integer) })),
  }),
);
export type SavedViewContent = TypeOf<typeof savedViewContent>;

export const savedView = named("SavedView", () =>
  object({
    name: string,
    filter: optional(string),
    search: optional(string),
    sort: optional(string),
    columns: optional(object({ order: arrayOf(string), hidden: arrayOf(string), widths: mapOf(integer) })),
    updatedAt: time,
  }),
);
export type SavedView = TypeOf<typeof savedView>;

/** A step of a migration (spec, "Schema migration"). */
export const migrationStep = named("MigrationStep", () =>
  object({
    step: string,
    field: optional(string),
    /** Of an index; of a search, all that are searched from now on. */
    fields: optional(arrayOf(string)),
    /** Of an index: whether no two records may have the same values in the fields. */
    unique: optional(boolean),
    /** For a rename: the old name. For a relation: the former target collection. For a collection: the former name. For a type: the former type. */
    from: optional(string),
    /** For a relation: the new target collection. For a collection: the new name. For a type: the new type. For a unique field: "nocase", without regard to case. */
    to: optional(string),
    /** For values: the values that take the place of other values, with the records that have the value. */
    renamed: optional(arrayOf(object({ from: string, to: string, records: count }))),
    /** For permissions: the rules that become others. */
    rules: optional(arrayOf(object({ operation: string, from: rule, to: rule }))),
    /** For a new required field: the default that existing records get. */
    default: optional(anything),
    /** Whether the field becomes unique, multiple, or the owner, or the index is made; false for the opposite. */
    on: optional(boolean),
    /** Affected records: for a dropped field the records that lose a value, otherwise all records. */
    records: count,
  }),
);

/** The effect of a migration on a collection, done or planned. */
export const migrationPlan = named("MigrationPlan", () =>
  object({
    collection: string,
    action: enumOf(["create", "update", "delete"]),
    steps: arrayOf(migrationStep),
    /** How many the collection has. */
    records: count,
    /** Of other collections: the changes that follow from the change. */
    following: optional(arrayOf(object({ collection: string, steps: arrayOf(migrationStep) }))),
    /** Of a rename: the files of code with an old name as a word. */
    code: optional(arrayOf(object({ path: string, names: arrayOf(string), lines: arrayOf(count) }))),
  }),
);

export const migrationPlans = named("MigrationPlans", () => object({ changes: arrayOf(migrationPlan) }));

/** A trial: an operation that an admin tries as another caller (`POST /api/admin/collections/{name}/try`). */
export const ruleTrialRequest = named("RuleTrialRequest", () =>
  object({
    /** The id of the user; null for somebody without a token. */
    as: orNull(string),
    operation,
    /** The id of the record; absent for a create and for a list. */
    id: optional(string),
    /** The body of a create or update; `{}` by default. */
    body: optional(freeObject),
    /** The parameters of a list, or of the read of a record; `limit` is 20 by default, and 100 at most. */
    query: optional(mapOf(either(string, number))),
  }),
);

/** A look at a list or a record as another caller (`POST /api/admin/collections/{name}/view-as`). */
export const viewAsRequest = named("ViewAsRequest", () =>
  object({
    /** The id of the user; null for somebody without a token. */
    as: orNull(string),
    /** The id of the record; absent for a list. */
    id: optional(string),
    /** The parameters of the list, or of the read of the record; `limit` is 20 by default, and 100 at most. */
    query: optional(mapOf(either(string, number))),
  }),
);

/** The definition that an admin tries before saving (`POST /api/admin/collections/{name}/try`). */
export const ruleEffectsRequest = named("RuleEffectsRequest", () =>
  object({
    /** As the body of a PUT of the collection. */
    definition: changedDefinition,
    /** The number of users without the role admin, from the oldest to the newest; 20 by default, 100 at most. */
    sample: optional(about(count, "From 0 to 100.")),
    /** The id of a further user. */
    as: optional(orNull(string)),
    /** By default, `read` and each operation with another rule. */
    operation: optional(operation),
  }),
);

/** The records that a caller gains or loses. */
export const changedRecords = named("ChangedRecords", () =>
  object({
    count,
    /** The number of records that are not named. */
    rest: count,
    /** A few, newest first, with the part of the rule that does not allow the record: of the present rule, or of the tried rule. */
    records: arrayOf(object({ id: string, part: string })),
  }),
);
export type ChangedRecords = TypeOf<typeof changedRecords>;

/** The records that a rule allows: all, some by a condition, or none. */
const ruleReach = enumOf(["all", "some", "none"]);
export type RuleReach = TypeOf<typeof ruleReach>;

/** The effects of a definition on a caller. */
export const callerEffects = named("CallerEffects", () =>
  object({
    /** Null for a caller without a token. */
    as: orNull(user),
    /** Whether the user is of the sample. */
    isSample: boolean,
    /** The number of records that the present rules allow, and the number that the tried rules allow. */
    operations: arrayOf(
      object({ operation, before: count, after: count, gained: changedRecords, lost: changedRecords }),
    ),
    /** Null if the rule of `create` stays. */
    create: orNull(object({ before: ruleReach, after: ruleReach })),
    /** Fields that other records show from now on. */
    fields: arrayOf(object({ field: string, before: ruleReach, after: ruleReach })),
  }),
);
export type CallerEffects = TypeOf<typeof callerEffects>;

/** The effects of a definition that is not saved. Nothing was changed. */
export const ruleEffects = named("RuleEffects", () =>
  object({
    /** The name after the change. */
    collection: string,
    /** The number of records. */
    records: count,
    /** The number of records that were looked at, newest first, for every caller. */
    looked: count,
    /** Whether all records were looked at. */
    isExact: boolean,
    rules: arrayOf(object({ operation, from: rule, to: rule })),
    /** The operations that only the change itself could tell about, as sentences. */
    unjudged: arrayOf(object({ operation, reason: string })),
    /** The values that other fields of the definition mean for the records, as sentences. */
    notes: arrayOf(string),
    callers: arrayOf(callerEffects),
  }),
);
export type RuleEffects = TypeOf<typeof ruleEffects>;

/** A part of a rule's text, from `start` up to `end` (UTF-16 units from 0). */
export interface RulePart {
  /**
   * `some` has brackets: each part below holds if a record fulfils the part and the parts that `&&` joins before the part. Each
   * part below `every` holds if all records fulfil the part.
   */
  kind: "and" | "or" | "not" | "some" | "every" | "comparison";
  start: number;
  end: number;
  /** Null if a compared value is missing. */
  holds: boolean | null;
  parts: RulePart[];
}

export const rulePart: Named<RulePart> = named("RulePart", () =>
  object({
    /**
     * `some` has brackets: each part below holds if a record fulfils the part and the parts that `&&` joins before the part. Each
     * part below `every` holds if all records fulfil the part.
     */
    kind: enumOf(["and", "or", "not", "some", "every", "comparison"]),
    start: count,
    end: count,
    /** Null if a compared value is missing. */
    holds: orNull(boolean),
    parts: arrayOf(rulePart),
  }),
);

/** A rule, and its result for a record. */
export const triedRule = named("TriedRule", () =>
  object({
    operation,
    /** Whether the rule was applied to the record before the change, or after the change. */
    moment: enumOf(["before", "after"]),
    rule,
    /** Whether the rule allows the caller; always true for an admin. */
    holds: boolean,
    /** The parts of an expression; null for a word. */
    parts: orNull(rulePart),
  }),
);

/** The outcome of a trial: the answer that the caller would get, and the rules that say so. Nothing was changed. */
export const ruleTrial = named("RuleTrial", () =>
  object({
    as: orNull(user),
    operation,
    allowed: boolean,
    /** The status of the answer that the caller would get. */
    status: integer,
    error: orNull(freeObject),
    /** The record, or a page of the list, as for the caller; null if the answer has no record. */
    answer: anything,
    /** Empty for a list, for an absent record, and if a word refuses every caller. */
    rules: arrayOf(triedRule),
  }),
);
