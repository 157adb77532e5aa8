/** Records: batches, imports, events and the problems of values. */
import { MAX_BATCH_OPERATIONS } from "../batch.ts";
import { CAUSE_KINDS, EVENT_SOURCES } from "../events.ts";
import { MAX_SEARCHED_COLLECTIONS } from "../queries.ts";
import {
  about,
  anything,
  arrayOf,
  closed,
  constant,
  count,
  either,
  enumOf,
  freeObject,
  integer,
  mapOf,
  named,
  object,
  only,
  optional,
  orNull,
  type Shape,
  string,
  time,
  yes,
} from "./shape.ts";

/** The id of the record of another operation of a batch. */
const reference = about(
  closed({ $ref: count }),
  "The id of the record of an operation, counted from 0; as the id of an operation, of an earlier operation.",
);
const id = either(string, reference);
const body = about(
  freeObject,
  "The values of a create, an update or an upsert, as in the collection, with references at any depth.",
);

/** A problem of a field; a `validation_error` lists all problems. */
export const errorDetail = named("ErrorDetail", () =>
  object({
    field: string,
    rule: about(string, "The rule that a value broke: required, type, min, max, regex, unique, relation, and others."),
    message: string,
    /** Of a multiple field: the place of the item that is wrong, counted from 0. */
    item: optional(about(count, "The place of the item in a multiple field.")),
    /** Of a batch: the operation, counted from 0. */
    operation: optional(about(count, "The operation of a batch.")),
  }),
);

export const batchOperation = named("BatchOperation", () =>
  either(
    closed({ method: constant("create"), collection: string, body }),
    closed({ method: constant("update"), collection: string, id, ifMatch: optional(string), body }),
    closed({ method: constant("upsert"), collection: string, by: string, ifMatch: optional(string), body }),
    closed({ method: constant("delete"), collection: string, id, ifMatch: optional(string) }),
  ),
);

export const batch = named("Batch", () =>
  object({ operations: arrayOf(batchOperation, { maxItems: MAX_BATCH_OPERATIONS }) }),
);

/** The parameters of a list, in the body of a request (`POST /api/{collection}/query`). */
export const listParameters = named("ListParameters", () =>
  only({
    filter: optional(string),
    sort: optional(string),
    limit: optional(integer),
    cursor: optional(string),
    offset: optional(count),
    count: optional(constant("exact")),
    fields: optional(string),
    expand: optional(string),
    search: optional(string),
    snippet: optional(string),
    group: optional(string),
    aggregate: optional(string),
    zone: optional(string),
  }),
);

/** A search in several collections (`POST /api/query`). */
export const searchRequest = named("SearchRequest", () =>
  only({
    search: string,
    in: arrayOf(string, { minItems: 1, maxItems: MAX_SEARCHED_COLLECTIONS }),
    limit: optional(integer),
  }),
);

/** The records of several collections that match a search, the best matches first. */
export const searchResults = named("SearchResults", () =>
  object({
    items: arrayOf(
      object({
        collection: string,
        /** The record, as a list of the collection answers the record. */
        record: freeObject,
      }),
    ),
  }),
);

const status: Shape<number> = { ...integer, schema: { type: "integer", enum: [200, 201, 204] } };

export const batchResults = named("BatchResults", () =>
  object({ results: arrayOf(object({ status, body: orNull(freeObject) })) }),
);

/** The outcome of an import (`POST /api/{collection}/import`). */
export const importReport = named("ImportReport", () =>
  object({
    /** Records that were created; in a dry run, that would be created. */
    imported: count,
    /** Records that were changed, or found unchanged, with `update` or `upsert`. */
    updated: count,
    /** Rows that were refused. */
    rejected: count,
    /** Rows without any value, which are passed over. */
    skipped: count,
    /** Ids of records and files that do not exist, in rows with an id: the values are kept, as the export had the values. */
    unresolved: count,
    /** The id of the import, which its changes have as the cause: the `X-Request-Id` of the request. Absent in a dry run. */
    import: optional(string),
    /** The first 1,000 rejected rows. */
    problems: arrayOf(object({ line: integer, details: arrayOf(errorDetail) })),
  }),
);

export const changeCause = named("ChangeCause", () =>
  object({
    kind: enumOf(CAUSE_KINDS),
    /** The `X-Request-Id` of the request, or the id of the run, of the import or of the undo. */
    id: string,
    /** The user's code that made the change, as `path:handler`. */
    name: optional(string),
  }),
);

/** An event of the log in the admin API. */
export const eventEntry = named("EventEntry", () =>
  object({
    id: string,
    type: string,
    timestamp: time,
    source: enumOf(EVENT_SOURCES),
    payload: freeObject,
    /** The id of the user behind the event, or null. */
    actor: orNull(string),
    /** For the update of a large record, the log keeps the id and the changed fields, not the rest of the record. */
    partial: optional(yes),
    /** The position in the log. */
    seq: count,
    /** For the change of a record: the request, run, import or undo that made the change. */
    cause: optional(changeCause),
    /** For an update or a deletion of a record: the changed fields, with the values before that the log has. */
    changes: optional(mapOf(fieldChange)),
  }),
);

export const jsonValue = named("JsonValue", () => anything);

/** The change of a value. */
export const fieldChange = named("FieldChange", () =>
  object({
    /** The value before; null without a value. Absent where the log does not have the value. */
    before: optional(jsonValue),
    /** The value after; null without a value. */
    after: jsonValue,
    /** The ids of files among the values that do not exist any more. */
    gone: optional(arrayOf(string)),
  }),
);

/** A change of a record. */
export const historyEntry = named("HistoryEntry", () =>
  object({
    /** The position of the event in the log. */
    seq: count,
    type: enumOf(["created", "updated", "deleted"]),
    at: time,
    /** The user behind the change; null for no user, and for a user whom the caller may not read. */
    by: orNull(object({ id: string, email: optional(string) })),
    /** Null for a change of the service, and for changes that were made by a version without causes. */
    cause: orNull(changeCause),
    /** By field. */
    changes: mapOf(fieldChange),
    /** Whether the log lacks values before. */
    partial: optional(yes),
    /** Whether the values were erased. */
    erased: optional(yes),
  }),
);

/** The changes of a record, newest first. */
export const recordHistory = named("RecordHistory", () =>
  object({
    items: arrayOf(historyEntry),
    /** For the next page; null on the last page. */
    nextCursor: orNull(string),
  }),
);
