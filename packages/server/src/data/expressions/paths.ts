/** The text of a path alone, for the order and the groups of a list. Errors of the grammar become errors of expressions. */
import { FilterSyntaxError, isName, type PathTerm, parsePathSyntax } from "@socle/protocol/filter";
import { quote } from "../../base/kernel/index.ts";
import { ExpressionError, type ExpressionSchema, type Path } from "./expression.ts";
import { followRelations, pathIn, rootScope } from "./lookup.ts";
import { itemsOf } from "./multi-valued.ts";

/** Looks up a path to a single value, as `author.name`. @throws ExpressionError; the errors of the schema. */
export function parsePath(text: string, schema: ExpressionSchema): Path {
  const { steps, offset } = pathSyntaxOf(text);
  return pathIn(rootScope(schema), steps, { up: 0, offset });
}

/** A path through a multiple field, in two parts. */
interface ItemPath {
  /** From the record to the JSON of the items; null for a path without a multiple field. */
  readonly items: Path | null;
  /** From each item, or else from the record, to a single value. The item is the column `value` of a row of the JSON. */
  readonly value: Path;
}

/** Like `parsePath`, for a path that may go through one multiple field, as `labels` or `labels.name`. */
export function parseItemPath(text: string, schema: ExpressionSchema): ItemPath {
  const { steps, offset } = pathSyntaxOf(text);
  const scope = rootScope(schema);
  const forward = followRelations({ ...scope, references: [] }, steps);
  const [step] = forward.rest;
  const field = step?.type === "name" ? forward.at.field(step.name) : undefined;
  if (field?.items === undefined) return { items: null, value: pathIn(scope, steps, { up: 0, offset }) };
  const items: Path = { type: "path", up: 0, hops: forward.hops, field, members: [], valueType: "json" };
  const inner = { ...scope, schema: itemsOf(forward, { ...field, items: field.items }), hops: forward.hops.length };
  return { items, value: pathIn(inner, forward.rest, { up: 0, offset }) };
}

function pathSyntaxOf(text: string): PathTerm {
  const odd = text.split(".").find((part) => !isName(part.replace(/(\[\d+\])+$/, "")));
  if (odd !== undefined) throw new ExpressionError(0, `${quote(text)} is no path: ${quote(odd)} is no name`);
  return inForm(parsePathSyntax, text);
}

/** Parses by the grammar. @throws ExpressionError. */
export function inForm<T>(parse: (text: string) => T, text: string): T {
  try {
    return parse(text);
  } catch (thrown) {
    throw thrown instanceof FilterSyntaxError ? new ExpressionError(thrown.offset, thrown.problem) : thrown;
  }
}
