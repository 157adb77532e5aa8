/** Paths: the names of an expression are looked up, from a record through relations to a value and into its JSON. */

import type { Step } from "@socle/protocol/filter";
import { nearest, quote } from "../../base/kernel/index.ts";
import type { ValueType } from "../fields/index.ts";
import { ExpressionError, type ExpressionSchema, type Hop, type Member, type Path } from "./expression.ts";

/** The relations that a path may go through, forward and backward. */
const maxHops = 5;

export const valueTypeNames: { readonly [valueType in ValueType]: string } = {
  text: "a text",
  number: "a number",
  boolean: "a boolean",
  datetime: "a datetime",
  json: "JSON",
};

/** A field that an expression names, and the place of the name in the text, from 0. */
export interface FieldReference {
  readonly collection: string;
  readonly field: string;
  readonly offset: number;
}

/** The collection in which a comparison is looked up: of the record, or of the last backward step or step to items. */
export interface LookupScope {
  /** The fields that were looked up so far. */
  readonly references: FieldReference[];
  readonly schema: ExpressionSchema;
  /** Relations that lie between the record and here. */
  readonly hops: number;
}

/** The part of a path that leads forward. `rest` begins with a backward step, or is empty. */
export interface Forward {
  readonly hops: Hop[];
  readonly at: ExpressionSchema;
  readonly rest: readonly Step[];
}

/** Goes through relations to a single record as long as another step follows. */
export function followRelations(scope: LookupScope, steps: readonly Step[]): Forward {
  const hops: Hop[] = [];
  let at = scope.schema;
  for (const [i, step] of steps.entries()) {
    const next = steps[i + 1];
    if (step.type !== "name" || next === undefined || next.type === "item") return { hops, at, rest: steps.slice(i) };
    const field = at.field(step.name);
    if (field === undefined) throw unknownField(at, step);
    if (!field.isRelation || field.items !== undefined) return { hops, at, rest: steps.slice(i) };
    scope.references.push({ collection: at.name, field: step.name, offset: step.offset });
    refuseLong(scope.hops + hops.length + 1, next);
    const target = at.follow(field);
    hops.push({ field, target });
    at = target;
  }
  return { hops, at, rest: [] };
}

export function refuseLong(hops: number, { offset }: Step): void {
  if (hops > maxHops) throw new ExpressionError(offset, `a path may go through ${maxHops} relations, not more`);
}

/** The position of a path. With `isWhole`, a path to a multiple field stands for the JSON of its items. */
interface PathAt {
  readonly up: number;
  readonly offset: number;
  readonly isWhole?: boolean;
}

/**
 * Looks up a path to a single value.
 * @throws ExpressionError for an unknown name; the errors of the schema.
 */
export function pathIn(scope: LookupScope, steps: readonly Step[], { up, offset, isWhole = false }: PathAt): Path {
  const { hops, at, rest } = followRelations(scope, steps);
  const [step, ...further] = rest;
  if (step === undefined) throw new ExpressionError(offset, "expected a field");
  if (step.type === "backward" || step.type === "items")
    throw new ExpressionError(
      step.offset,
      "a path that leads back to several records can stand only left of a comparison",
    );
  if (step.type === "item") throw new ExpressionError(step.offset, "only an array in json has items");
  const field = at.field(step.name);
  if (field === undefined) throw unknownField(at, step);
  scope.references.push({ collection: at.name, field: step.name, offset: step.offset });
  const [next] = further;
  if (field.items !== undefined) {
    if (isWhole && next === undefined) return { type: "path", up, hops, field, members: [], valueType: "json" };
    throw new ExpressionError(
      step.offset,
      `${quote(step.name)} has several items; only the left side of a comparison can name it`,
    );
  }
  if (next !== undefined && field.valueType !== "json") {
    const what = `${quote(step.name)} is ${valueTypeNames[field.valueType]}`;
    throw new ExpressionError(next.offset, `${what}: only relations and json have something in them`);
  }
  const members = further.map(memberOf);
  if (members.filter((member) => member === null).length > 1)
    throw new ExpressionError(offset, "a path may name any item, [*], once");
  return { type: "path", up, hops, field, members, valueType: field.valueType };
}

function memberOf(step: Step): Member {
  if (step.type === "name") return step.name;
  if (step.type === "item") return step.index;
  throw new ExpressionError(step.offset, "no relation leads on from json");
}

export function unknownField(
  schema: ExpressionSchema,
  { name, offset }: Pick<Step & { type: "name" }, "name" | "offset">,
): ExpressionError {
  const hint = hintFor(name, schema.fieldNames());
  return new ExpressionError(offset, `"${schema.name}" has no field ${quote(name)}${hint}`);
}

/** "title" → `; did you mean "title"?`, or the known names. */
export function hintFor(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  if (near !== null) return `; did you mean "${near}"?`;
  return `; there are: ${names.slice(0, 20).join(", ")}${names.length > 20 ? ", …" : ""}`;
}
