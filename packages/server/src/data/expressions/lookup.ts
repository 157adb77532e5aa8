/**
 * Lookups: the names of a path in the text of an expression become a path with known fields, from the record that the expression is
 * about or from a record that a step to several has reached.
 */
import type { PathTerm, Step } from "@socle/protocol/filter";
import { nearest, quote } from "../../base/kernel/index.ts";
import {
  ExpressionError,
  type ExpressionSchema,
  type Hop,
  type Member,
  type Path,
  valueTypeNames,
} from "./expression.ts";

/** The relations that a path may go through, forward and backward. */
const maxHops = 5;

/** A field that an expression names, and the place of the name in the text, from 0. */
export interface FieldReference {
  readonly collection: string;
  readonly field: string;
  readonly offset: number;
  /** The place of the name of the collection, for a backward step, which names the collection. */
  readonly collectionOffset?: number;
  /** The texts that the expression compares with the field, without the texts of `~` and of calls. */
  readonly texts: TextPlace[];
}

/** A text in an expression, with the quotation marks from `offset` up to `end`, from 0. */
interface TextPlace {
  readonly text: string;
  readonly offset: number;
  readonly end: number;
}

/** Notes that an expression names a field. */
export function noteField({ references }: Pick<LookupScope, "references">, field: Omit<FieldReference, "texts">): void {
  references.push({ ...field, texts: [] });
}

/** The collection in which a comparison is looked up: of the record, or of the last backward step or step to items. */
export interface LookupScope {
  /** The fields that were looked up so far. */
  readonly references: FieldReference[];
  readonly schema: ExpressionSchema;
  /** The collection of the record that the expression is about, for `@record`. */
  readonly root: ExpressionSchema;
  /** Relations that lie between the record and here. */
  readonly hops: number;
  /** Steps to several that lie between the record and here. */
  readonly depth: number;
}

/** The scope of the record that an expression is about. */
export function rootScope(schema: ExpressionSchema, references: FieldReference[] = []): LookupScope {
  return { schema, root: schema, hops: 0, depth: 0, references };
}

/**
 * The scope in which a path begins, and how many steps to several lie between the record of the scope and the comparison:
 * `@record` climbs out of all brackets. The relations of such a path count together with the relations that lead to the brackets.
 */
export function beginOf({ isOfRecord }: PathTerm, scope: LookupScope): { scope: LookupScope; up: number } {
  return isOfRecord ? { scope: { ...scope, schema: scope.root }, up: scope.depth } : { scope, up: 0 };
}

/** The part of a path that leads forward. `rest` begins with a backward step, or is empty. */
export interface Forward {
  readonly hops: Hop[];
  readonly at: ExpressionSchema;
  readonly rest: readonly Step[];
}

/** Whether a step leads from JSON into the JSON. */
export function isInJson(step: Step): step is Extract<Step, { type: "item" | "member" }> {
  return step.type === "item" || step.type === "member";
}

/** Goes through relations to a single record as long as another step follows. */
export function followRelations(scope: LookupScope, steps: readonly Step[]): Forward {
  const hops: Hop[] = [];
  let at = scope.schema;
  for (const [i, step] of steps.entries()) {
    const next = steps[i + 1];
    if (step.type !== "name" || next === undefined || isInJson(next)) return { hops, at, rest: steps.slice(i) };
    const field = at.field(step.name);
    if (field === undefined) throw unknownField(at, step);
    if (!field.isRelation || field.items !== undefined) return { hops, at, rest: steps.slice(i) };
    noteField(scope, { collection: at.name, field: step.name, offset: step.offset });
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

/**
 * Looks up a path to a single value. With `isWhole`, a path to a multiple field stands for the JSON of the items.
 * @throws ExpressionError for an unknown name; the errors of the schema.
 */
export function pathIn(
  scope: LookupScope,
  steps: readonly Step[],
  { up, offset, isWhole = false }: { up: number; offset: number; isWhole?: boolean },
): Path {
  const { hops, at, rest } = followRelations(scope, steps);
  const [step, ...further] = rest;
  if (step === undefined) throw new ExpressionError(offset, "expected a field");
  if (step.type === "backward" || step.type === "items")
    throw new ExpressionError(
      step.offset,
      "a path that leads back to several records can stand only left of a comparison",
    );
  if (isInJson(step)) throw new ExpressionError(step.offset, "only json has items, and members in brackets");
  const field = at.field(step.name);
  if (field === undefined) throw unknownField(at, step);
  noteField(scope, { collection: at.name, field: step.name, offset: step.offset });
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
  if (step.type === "name" || step.type === "member") return step.name;
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
