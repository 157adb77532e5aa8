/** Records: batches, imports, events and the problems of values. */
import { MAX_BATCH_OPERATIONS } from "../batch.ts";
import { EVENT_SOURCES } from "../events.ts";
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
  named,
  object,
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
    /** The first 1,000 rejected rows. */
    problems: arrayOf(object({ line: integer, details: arrayOf(errorDetail) })),
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
  }),
);

export const jsonValue = named("JsonValue", () => anything);
