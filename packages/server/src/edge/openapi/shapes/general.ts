/** Schemas that every part of the API uses: the health answer, files, batches, imports, events and groups. */
import {
  type BatchResult,
  type ErrorDetail,
  EVENT_SOURCES,
  type EventEntry,
  type FileLink,
  type Health,
  type ImportReport,
  MAX_BATCH_OPERATIONS,
  type StoredFile,
  VISIBILITIES,
} from "@socle/protocol";
import {
  about,
  anything,
  arrayOf,
  constant,
  count,
  enumOf,
  freeObject,
  integer,
  objectOf,
  optional,
  orNull,
  ref,
  type Schema,
  string,
  time,
} from "../schema.ts";

const reference = about(
  { type: "object", properties: { $ref: count }, required: ["$ref"], additionalProperties: false },
  "The id of the record of an operation, counted from 0; as the id of an operation, of an earlier operation.",
);

const id: Schema = { anyOf: [string, reference] };
const values = about(
  freeObject,
  "The values of a create or an update, as in the collection, with references at any depth.",
);

function operationOf(
  method: string,
  members: { readonly [name: string]: Schema },
  required: readonly string[],
): Schema {
  return {
    type: "object",
    properties: { method: constant(method), collection: string, ...members },
    required: ["method", "collection", ...required],
    additionalProperties: false,
  };
}

/** By name in the components of the document. */
export const generalSchemas: { readonly [name: string]: Schema } = {
  Health: objectOf<Health>({ status: constant("ok"), version: string, notes: optional(arrayOf(string)) }),
  ErrorDetail: objectOf<ErrorDetail>({
    field: string,
    rule: about(string, "The rule that a value broke: required, type, min, max, regex, unique, relation, and others."),
    message: string,
    item: optional(about(count, "The place of the item in a multiple field.")),
    operation: optional(about(count, "The operation of a batch.")),
  }),
  StoredFile: objectOf<StoredFile>({
    id: string,
    filename: string,
    mimeType: string,
    size: about(count, "Bytes."),
    visibility: enumOf(VISIBILITIES),
    userId: orNull(string),
    createdAt: time,
    url: string,
  }),
  FileLink: objectOf<FileLink>({ url: about(string, "From the root of the service."), expiresAt: time }),
  BatchOperation: {
    anyOf: [
      operationOf("create", { body: values }, ["body"]),
      operationOf("update", { id, ifMatch: string, body: values }, ["id", "body"]),
      operationOf("delete", { id, ifMatch: string }, ["id"]),
    ],
  },
  Batch: {
    type: "object",
    properties: {
      operations: { type: "array", items: ref("BatchOperation"), maxItems: MAX_BATCH_OPERATIONS },
    },
    required: ["operations"],
  },
  BatchResults: {
    type: "object",
    properties: {
      results: arrayOf(
        objectOf<BatchResult>({ status: { ...integer, enum: [200, 201, 204] }, body: orNull(freeObject) }),
      ),
    },
    required: ["results"],
  },
  ImportReport: objectOf<ImportReport>({
    imported: count,
    updated: count,
    rejected: count,
    skipped: count,
    unresolved: count,
    problems: arrayOf(
      objectOf<ImportReport["problems"][number]>({ line: integer, details: arrayOf(ref("ErrorDetail")) }),
    ),
  }),
  EventEntry: objectOf<EventEntry>({
    id: string,
    type: string,
    timestamp: time,
    source: enumOf(EVENT_SOURCES),
    payload: freeObject,
    actor: orNull(string),
    partial: optional({ type: "boolean", const: true }),
  }),
  JsonValue: anything,
};
