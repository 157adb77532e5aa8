/**
 * Related records: backward steps, and comparisons at the end of relations. A backward step becomes EXISTS, or, where an index finds
 * the records that fulfil its condition, a lookup the other way round: they are found once, and then the records that they point to.
 */
import { identifier } from "../../database/index.ts";
import {
  columnOf,
  type Expression,
  eachOperand,
  type Hop,
  isConstant,
  type Operand,
  type Path,
  pathOf,
  type Some,
} from "../expression.ts";
import type { Scope } from "./scope.ts";
import { allOf, join, plain, type Sql } from "./text.ts";

/** Some record that points to the end of `from` fulfils `item`. */
export function someSql(scope: Scope, some: Some): Sql {
  const { from, target, pointer, item } = some;
  const callers = callersIn(scope, some);
  if (callers !== null) return callers;
  if (scope.options.isOfOneRecord !== true && item !== null && isSelective(item))
    return lookUp(scope, from, (at) => pointedBy(at, { target, pointer, item }));
  const { tables, conditions, alias } = scope.enter(from);
  const inner = scope.inside();
  const all = [
    ...inner.probes(),
    ...conditions,
    plain(`${inner.column(pointer.column)} = ${alias}.id`),
    ...inner.readable(target),
    ...(item === null ? [] : [inner.compile(item)]),
  ];
  const entered = [...tables, `${identifier(target.table)} ${inner.alias}`].join(", ");
  return join([`EXISTS (SELECT 1 FROM ${entered} WHERE `, allOf(all), ")"]);
}

/** A condition on the column at the end of relations, which NULL does not meet: looked up from their end. */
export function lookUpColumn(scope: Scope, path: Path, condition: (column: string) => Sql): Sql {
  return lookUp(scope, path.hops, (at) => condition(at.column(columnOf(path))));
}

/** The records whose relations lead to records that fulfil a condition, looked up from their end. */
function lookUp(scope: Scope, hops: readonly Hop[], atEnd: (scope: Scope) => Sql): Sql {
  const [hop, ...rest] = hops;
  if (hop === undefined) return atEnd(scope);
  const inner = scope.beside();
  const conditions = [...inner.probes(), lookUp(inner, rest, atEnd), ...inner.readable(hop.target)];
  const table = `${identifier(hop.target.table)} ${inner.alias}`;
  const column = scope.column(hop.field.column);
  const opening =
    scope.options.isOfOneRecord === true
      ? `EXISTS (SELECT 1 FROM ${table} WHERE ${inner.alias}.id = ${column} AND `
      : `${column} IN (SELECT ${inner.alias}.id FROM ${table} WHERE `;
  return join([opening, allOf(conditions), ")"]);
}

/**
 * The caller is one of those that the records name, where a term of `item` says so: the records are read once for all
 * callers, and not once for each. Null where no term does, or the caller is a constant.
 */
function callersIn(scope: Scope, { from, target, pointer, item }: Some): Sql | null {
  const { caller } = scope.options;
  if (caller === undefined || item === null) return null;
  const terms = item.type === "and" ? item.items : [item];
  const naming = terms.find((term) => callerPath(term) !== null);
  const path = naming === undefined ? null : callerPath(naming);
  if (path === null) return null;
  const { tables, conditions, alias } = scope.enter(from);
  const inner = scope.inside();
  const all = [
    ...inner.probes(),
    ...conditions,
    plain(`${inner.column(pointer.column)} = ${alias}.id`),
    ...inner.readable(target),
    ...terms.filter((term) => term !== naming).map((term) => inner.compile(term)),
  ];
  const entered = [...tables, `${identifier(target.table)} ${inner.alias}`].join(", ");
  return join([`${caller}.id IN (SELECT ${inner.column(path.field.column)} FROM ${entered} WHERE `, allOf(all), ")"]);
}

/** This record is one of those that records which fulfil `item` point to. */
function pointedBy(scope: Scope, { target, pointer, item }: Omit<Some, "type" | "from">): Sql {
  const inner = scope.inside();
  const conditions = [...inner.probes(), ...(item === null ? [] : [inner.compile(item)]), ...inner.readable(target)];
  const table = `${identifier(target.table)} ${inner.alias}`;
  return join([
    `${scope.alias}.id IN (SELECT ${inner.column(pointer.column)} FROM ${table} WHERE `,
    allOf(conditions),
    ")",
  ]);
}

/**
 * Whether an index finds the records that fulfil a condition: one of its terms compares an indexed field with a
 * constant, and none begins at another record.
 */
function isSelective(item: Expression): boolean {
  let isInside = true;
  eachOperand(item, (operand) => {
    if ((pathOf(operand)?.up ?? 0) > 0) isInside = false;
  });
  const terms = item.type === "and" ? item.items : [item];
  return isInside && terms.some(findsByIndex);
}

function findsByIndex(term: Expression): boolean {
  if (term.type === "in") return isIndexedField(term.left) && term.items.every(isConstant);
  if (term.type !== "compare" || term.operator !== "=") return false;
  const { left, right } = term;
  return (isIndexedField(left) && isConstant(right)) || (isIndexedField(right) && isConstant(left));
}

/** The own field that a term says is the caller's id; null for any other term. */
function callerPath(term: Expression): Path | null {
  if (term.type !== "compare" || term.operator !== "=") return null;
  const { left, right } = term;
  const path = isCallerId(right) ? left : isCallerId(left) ? right : null;
  return path?.type === "path" && path.up === 0 && path.hops.length === 0 && path.members.length === 0 ? path : null;
}

function isCallerId(operand: Operand): boolean {
  return operand.type === "macro" && operand.name === "user.id";
}

function isIndexedField(operand: Operand): boolean {
  return (
    operand.type === "path" && operand.hops.length === 0 && operand.members.length === 0 && operand.field.isIndexed
  );
}
