/**
 * Multi-valued steps of a path: steps back to the records that point here, and steps to the items of a multiple field. A comparison
 * through a multi-valued step holds when some record, or some item, fulfils the comparison. For items, `!=` and `!~` are the
 * opposites of `=` and `~`.
 */

import type { PathTerm, Step, Syntax } from "@socle/protocol/filter";
import { quote } from "../../base/kernel/index.ts";
import {
  type Expression,
  ExpressionError,
  type ExpressionSchema,
  isNull,
  itemOf,
  type Operand,
  type SomeItem,
} from "./expression.ts";
import {
  type Forward,
  followRelations,
  isInJson,
  type LookupScope,
  noteField,
  refuseLong,
  unknownField,
} from "./lookup.ts";

/** A path from the records of a scope. */
export interface PathFrom {
  readonly scope: LookupScope;
  readonly steps: readonly Step[];
  /** How many multi-valued steps lie between the record that `steps` begin at and here: see `beginOf`. */
  readonly up: number;
  /** How many multi-valued steps the path has passed. */
  readonly passed: number;
  /** Whether a step to items was passed. */
  readonly isOfItem: boolean;
}

/** The comparison with the path as left side. */
interface Compared {
  /** Whether the operator is `!=` or `!~`. */
  readonly isOpposite: boolean;
  /** Whether a multiple field at the end stands for all items. */
  readonly isWhole: boolean;
  /** The condition in the brackets of a backward step. */
  check(filter: Syntax, scope: LookupScope): Expression;
  /** The condition at the end of the path. An item gets the opposite operator, which is negated outside. */
  atEnd(end: PathFrom): Expression;
}

/** The condition that a path begins. */
export function alongPath(path: PathFrom, compared: Compared): Expression {
  // A look ahead: only the end of the path notes references.
  const ahead = followRelations({ ...path.scope, references: [] }, path.steps);
  const [step] = ahead.rest;
  if (step?.type === "backward") return someRecord(path, compared);
  if (step?.type === "items") return someNamed(path, compared);
  const field = step?.type === "name" ? ahead.at.field(step.name) : undefined;
  const isWhole = compared.isWhole && ahead.rest.length === 1;
  if (field?.items === undefined || isWhole) return compared.atEnd(path);
  return someOf(path, { ...field, items: field.items }, compared);
}

/** Functions with more than a field in the brackets, by name. */
const hints: { readonly [call: string]: string } = {
  every: "every(path, condition) needs a condition",
  distance: "distance(field, lat, lon) needs a latitude and a longitude",
};

function someRecord(path: PathFrom, compared: Compared): Expression {
  const { scope, steps, up, passed } = path;
  const { hops: from, at, rest } = followRelations(scope, steps);
  const [step, ...further] = rest;
  if (step?.type !== "backward") throw new Error("The path has no backward step");
  const hops = scope.hops + from.length + 1;
  refuseLong(hops, step);
  const found = at.back(step.collection, step.field);
  if (typeof found === "string") {
    const hint = Object.hasOwn(hints, step.collection) ? `; ${hints[step.collection]}` : "";
    throw new ExpressionError(step.offset, `${found}${hint}`);
  }
  const { collection, field, fieldOffset: offset, offset: collectionOffset } = step;
  noteField(scope, { collection, field, offset, collectionOffset });
  const inner: LookupScope = { ...scope, schema: found.target, hops, depth: scope.depth + 1 };
  const item = within({ ...path, scope: inner, steps: further, up: 0, passed: passed + 1 }, step.filter, compared);
  return { type: "some", up, from, ...found, item };
}

/**
 * The path of `every(path, condition)`, so that some record at the end fails the condition.
 * @throws ExpressionError for a path that ends inside JSON.
 */
export function failingPath({ steps }: PathTerm, condition: Syntax): Step[] {
  const { start, end } = condition;
  const failing: Syntax = { type: "not", item: condition, start, end };
  const last = steps.at(-1);
  if (last === undefined || isInJson(last))
    throw new ExpressionError(
      last?.offset ?? 0,
      "every(path, condition) takes a path to records, not to items of JSON",
    );
  const filter = last.type === "name" ? null : last.filter;
  const both: Syntax =
    filter === null ? failing : { type: "and", items: [filter, failing], start: filter.start, end: failing.end };
  const step: Step =
    last.type === "name"
      ? { type: "items", name: last.name, filter: both, offset: last.offset }
      : { ...last, filter: both };
  return [...steps.slice(0, -1), step];
}

/** The condition in brackets, and the condition of the path behind the brackets. */
function within(path: PathFrom, filter: Syntax | null, compared: Compared): Expression | null {
  const conditions: Expression[] = [];
  if (filter !== null) conditions.push(compared.check(filter, path.scope));
  if (path.steps.length > 0) conditions.push(alongPath(path, compared));
  const [only = null] = conditions;
  return conditions.length > 1 ? { type: "and", items: conditions } : only;
}

/** A multiple relation with a condition in brackets: some readable record of the relation. */
function someNamed(path: PathFrom, compared: Compared): Expression {
  const { scope, steps, up, passed, isOfItem } = path;
  const { hops: from, at, rest } = followRelations(scope, steps);
  const [step, ...further] = rest;
  if (step?.type !== "items") throw new Error("The path has no brackets");
  const field = at.field(step.name);
  if (field === undefined) throw unknownField(at, step);
  if (field.items === undefined || !field.isRelation) {
    const why = "only a multiple relation, or collection(field), has records for a condition";
    throw new ExpressionError(step.offset, `${quote(step.name)} has no records: ${why}`);
  }
  noteField(scope, { collection: at.name, field: step.name, offset: step.offset });
  const hops = scope.hops + from.length + 1;
  refuseLong(hops, step);
  const record = at.follow(field);
  const inner: LookupScope = { ...scope, schema: record, hops, depth: scope.depth + 1 };
  const end: PathFrom = { scope: inner, steps: further, up: 0, passed: passed + 1, isOfItem: true };
  const item = within(end, step.filter, compared);
  const some: SomeItem = { type: "someItem", up, from, field: { ...field, items: field.items }, record, item };
  return compared.isOpposite && !isOfItem ? { type: "not", item: some } : some;
}

function someOf(path: PathFrom, field: SomeItem["field"], compared: Compared): Expression {
  const { scope, steps, up, passed, isOfItem } = path;
  const forward = followRelations(scope, steps);
  const hops = scope.hops + forward.hops.length;
  const inner: LookupScope = { ...scope, schema: itemsOf(forward, field), hops, depth: scope.depth + 1 };
  const item = alongPath({ scope: inner, steps: forward.rest, up: 0, passed: passed + 1, isOfItem: true }, compared);
  const some = withNull({ type: "someItem", up, from: forward.hops, field, record: null, item });
  return compared.isOpposite && !isOfItem ? { type: "not", item: some } : some;
}

/** The schema of the items of a field: the name of the field stands for the item. */
export function itemsOf({ at }: Forward, field: SomeItem["field"]): ExpressionSchema {
  const item = itemOf(field);
  return {
    name: at.name,
    table: field.items.table,
    condition: null,
    field: (name) => (name === field.name ? item : undefined),
    fieldNames: () => [field.name],
    follow: () => at.follow(field),
    back: (collection, name) => at.back(collection, name),
  };
}

/** An item is never null: a field that is compared with null has no items. */
function withNull(some: SomeItem): Expression {
  const { item } = some;
  const none: Expression = { type: "not", item: { ...some, item: null } };
  if (item?.type === "compare" && item.operator === "=" && isItem(item.left) && isNull(item.right)) return none;
  if (item?.type !== "in" || !isItem(item.left) || !item.items.some(isNull)) return some;
  const items = item.items.filter((each) => !isNull(each));
  if (items.length === 0) return none;
  return { type: "or", items: [{ ...some, item: { ...item, items } }, none] };
}

/** Whether an operand is the item, and no value behind the item. */
function isItem(operand: Operand): boolean {
  return operand.type === "path" && operand.up === 0 && operand.hops.length === 0;
}
