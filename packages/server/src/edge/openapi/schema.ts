/** Builders of JSON Schemas (draft 2020-12), for the parts of the document that are no shapes of the wire. */
import * as wire from "@socle/protocol/wire";

export type Schema = wire.JsonSchema;
export const orNull = wire.nullable;

export const { schema: string } = wire.string;
export const { schema: time } = wire.time;
export const { schema: integer } = wire.integer;
export const { schema: freeObject } = wire.freeObject;

export function arrayOf(items: Schema): Schema {
  return { type: "array", items };
}

export function mapOf(values: Schema): Schema {
  return { type: "object", additionalProperties: values };
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}
