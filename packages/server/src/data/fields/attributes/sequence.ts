/**
 * The attribute `sequence`: the service numbers the records, with one count for all records or one for each value of some
 * fields.
 */
import type { FieldDefinition, FieldType } from "@socle/protocol";
import { oneOf, quote } from "../../../base/kernel/index.ts";
import type { Attribute } from "../field-type.ts";

const maxScope = 4;
/** The types of the fields that may divide a count: short values with one form each. */
const scopeTypes: readonly FieldType[] = ["string", "integer", "boolean", "datetime", "relation", "file"];

function problemsOf({ name, sequence }: FieldDefinition): string[] {
  if (!Array.isArray(sequence)) return [];
  if (sequence.length === 0 || sequence.length > maxScope)
    return [`names 1 to ${maxScope} fields, not ${sequence.length}; or it is true`];
  if (sequence.includes(name)) return ["names its own field"];
  const twin = sequence.find((each, i) => sequence.indexOf(each) < i);
  return twin === undefined ? [] : [`names ${quote(twin)} twice`];
}

export const sequence: Attribute = {
  name: "sequence",
  isFor: "integer",
  means: ({ type }) => type === "integer",
  // A number is never empty and never given twice.
  excludes: () => ["required", "unique", "min", "max", "default"],
  problems: problemsOf,
};

/** The fields that divide the count; empty for one count. */
export function scopeOf({ sequence: by }: FieldDefinition): readonly string[] {
  return Array.isArray(by) ? by : [];
}

/** The problems of the scopes of all fields, each a sentence. */
export function scopeProblems(fields: readonly FieldDefinition[]): string[] {
  const byName = new Map(fields.map((field) => [field.name, field]));
  return fields.flatMap((field) =>
    scopeOf(field).flatMap((name) => {
      const where = `field "${field.name}": "sequence" names ${quote(name)}`;
      const scope = byName.get(name);
      if (scope === undefined) return [`${where}, and there is no such field`];
      if (scope.multiple === true) return [`${where}, which is multiple`];
      if (scope.sequence !== undefined) return [`${where}, which is a sequence, too`];
      if (!scopeTypes.includes(scope.type)) return [`${where}, which is ${scope.type}; allowed: ${oneOf(scopeTypes)}`];
      return [];
    }),
  );
}
