/** Parser of the `indexes` of a definition. */
import type { IndexDefinition } from "@socle/protocol";
import * as z from "zod/mini";
import { isObject, nearest, quote } from "../../base/kernel/index.ts";
import { typeNamed } from "../fields/index.ts";
import { recordTimes } from "./collection.ts";
import { shapeProblems, unknownAttributes } from "./shapes.ts";

/** The most indexes: every write of a record writes all indexes. */
const maxIndexes = 20;
const maxIndexFields = 8;

const indexShape = {
  fields: z.array(z.unknown(), "must be an array of names of fields"),
  unique: z.optional(z.boolean("must be true or false")),
};
const indexSchema = z.object(indexShape);

/** The types of the fields by their names, also of invalid fields; null if the fields are not readable. */
export type FieldTypes = ReadonlyMap<unknown, unknown> | null;

function fieldProblem(name: unknown, types: FieldTypes): string | null {
  if (typeof name !== "string") return `a field is named by a string, not ${quote(name)}`;
  if (name === "id") return `"id" is indexed already`;
  if (types === null || recordTimes.some((time) => time === name)) return null;
  const type = typeNamed(types.get(name));
  if (type?.isIndexable === false) return `field ${quote(name)} is ${type.name}, which cannot be indexed`;
  if (types.has(name)) return null;
  const known = [...types.keys()].filter((each) => typeof each === "string");
  const near = nearest(name, [...known, ...recordTimes]);
  const hint = near === null ? "allowed: those of the collection, createdAt, updatedAt" : `did you mean "${near}"?`;
  return `there is no field ${quote(name)}; ${hint}`;
}

function listProblems(names: readonly unknown[], types: FieldTypes): string[] {
  if (names.length === 0 || names.length > maxIndexFields)
    return [`1 to ${maxIndexFields} fields are allowed, not ${names.length}`];
  return names.flatMap((name, i) => {
    const problem = names.indexOf(name) < i ? `field ${quote(name)} is named twice` : fieldProblem(name, types);
    return problem ?? [];
  });
}

function parseIndex(input: unknown, types: FieldTypes, report: { where: string; problems: string[] }): IndexDefinition {
  const { where, problems } = report;
  if (!Array.isArray(input) && !isObject(input)) {
    problems.push(`${where} must be an array of names of fields, or an object with "fields", not ${quote(input)}`);
    return [];
  }
  const object = Array.isArray(input) ? { fields: input } : input;
  problems.push(...unknownAttributes(object, indexShape, where));
  const result = indexSchema.safeParse(object);
  if (!result.success) {
    problems.push(...shapeProblems(result.error, object, where));
    return [];
  }
  const { fields: names, unique } = result.data;
  problems.push(...listProblems(names, types).map((problem) => `${where}: ${problem}`));
  const fields = names.filter((name) => typeof name === "string");
  return Array.isArray(input) ? fields : { fields, ...(unique !== undefined && { unique }) };
}

/** Reads the indexes of a definition, each in its given form, and adds problems to `problems`. */
export function parseIndexes(input: unknown, types: FieldTypes, problems: string[]): IndexDefinition[] {
  if (input === undefined || input === null) return [];
  if (!Array.isArray(input)) {
    problems.push(`"indexes" must be an array of indexes, not ${quote(input)}`);
    return [];
  }
  if (input.length > maxIndexes) {
    problems.push(`${input.length} indexes are too many; at most ${maxIndexes} are allowed`);
    return [];
  }
  const places = new Map<string, number>();
  return input.map((item: unknown, i) => {
    const where = `index ${i + 1}`;
    const before = problems.length;
    const index = parseIndex(item, types, { where, problems });
    if (problems.length > before) return index;
    const key = JSON.stringify(Array.isArray(index) ? index : index.fields);
    const twin = places.get(key);
    if (twin !== undefined) problems.push(`${where} has the same fields as index ${twin}`);
    places.set(key, twin ?? i + 1);
    return index;
  });
}
