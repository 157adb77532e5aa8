/**
 * Related records: backward steps, and comparisons at the end of relations. A backward step becomes EXISTS. When an
 * index finds the records that fulfil its condition, the step becomes a lookup: SQL finds these records once, and then the records that
 * these point to.
 */
import { identifier } from "../../../store/database/index.ts";
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
  type SomeItem,
} from "../expression.ts";
import type { Scope } from "./scope.ts";
import { allOf, join, plain, type Sql } from "./text.ts";

/** Some record that points to the end of `from` fulfils `item`. */
export function someSql(scope: Scope, some: Some): Sql {
  const { from, target, pointer, item } = some;
  const callers = callersAmong(scope, some);
  if (callers !== null) return callers;
  if (scope.options.isOfOneRecord !== true && item !== null && isSelective(item))
    return lookUp(scope, from, (at) => pointedBy(at, { target, pointer, item }));
  const { tables, conditions, inner } = enterPointing(scope, some);
  const all = [...conditions, ...(item === null ? [] : [inner.compile(item)])];
  return join([`EXISTS (SELECT 1 FROM ${tables.join(", ")} WHERE `, allOf(all), ")"]);
}

/**
 * Some item of a field of the record at the end of `from`, or the record of the item, fulfils `item`. The items are read from the JSON
 * of the record, which a state outside of tables has, too. When an index finds the items, the table of items leads to the records.
 */
export function someItemSql(scope: Scope, some: SomeItem): Sql {
  const { from, item } = some;
  const callers = callersAmong(scope, some);
  if (callers !== null) return callers;
  if (scope.options.isOfOneRecord !== true && item !== null && findsItem(some))
    return lookUp(scope, from, (at) => holdersOf(at, some, item));
  const { tables, conditions, inner } = enterItems(scope, some);
  const all = [...conditions, ...(item === null ? [] : [inner.compile(item)])];
  const where = all.length === 0 ? "" : " WHERE ";
  return join([`EXISTS (SELECT 1 FROM ${tables.join(", ")}${where}`, allOf(all), ")"]);
}

/** The tables of a condition, their joins, and the scope at the end. */
interface Entered {
  readonly tables: readonly string[];
  readonly conditions: readonly Sql[];
  readonly inner: Scope;
}

/** The readable records that point to the end of `from`. */
function enterPointing(scope: Scope, { from, target, pointer }: Omit<Some, "item">): Entered {
  const { tables, conditions, alias } = scope.enter(from);
  const inner = scope.inside();
  const table = `${identifier(target.table)} ${inner.alias}`;
  const shared = [...inner.probes(), ...conditions];
  if (pointer.items === undefined) {
    const points = plain(`${inner.column(pointer.column)} = ${alias}.id`);
    return { tables: [...tables, table], conditions: [...shared, points, ...inner.readable(target)], inner };
  }
  const items = scope.newAlias();
  const points = plain(`${items}.value = ${alias}.id AND ${inner.alias}._seq = ${items}.record`);
  const holders = `${identifier(pointer.items.table)} ${items}`;
  return { tables: [...tables, holders, table], conditions: [...shared, points, ...inner.readable(target)], inner };
}

/**
 * The items of the record at the end of `from`, or the records of the items. The number of items is bounded, so the statement has stop
 * probes only for items that lead to several records each.
 */
function enterItems(scope: Scope, { from, field, record, item }: SomeItem): Entered {
  const { tables, conditions, alias } = scope.enter(from);
  const inner = scope.inside();
  if (record !== null) {
    const each = scope.newAlias();
    const items = `json_each(${alias}.${identifier(field.column)}) ${each}`;
    const named = `${identifier(record.table)} ${inner.alias}`;
    const isNamed = plain(`${inner.alias}.id = ${each}.value`);
    const all = [...inner.probes(), ...conditions, isNamed, ...inner.readable(record)];
    return { tables: [...tables, items, named], conditions: all, inner };
  }
  const probes = item !== null && leadsToSeveral(item) ? inner.probes("key") : [];
  const items = `json_each(${alias}.${identifier(field.column)}) ${inner.alias}`;
  return { tables: [...tables, items], conditions: [...probes, ...conditions], inner };
}

function leadsToSeveral(expression: Expression): boolean {
  switch (expression.type) {
    case "and":
    case "or":
      return expression.items.some(leadsToSeveral);
    case "not":
      return leadsToSeveral(expression.item);
    case "compare":
    case "in":
      return false;
    default:
      return true;
  }
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
 * The condition that the caller is among the users that the records, or the items, name: SQL reads these users once for all callers.
 * Null when no term of `item` names the caller, or the caller is a constant.
 */
function callersAmong(scope: Scope, some: Some | SomeItem): Sql | null {
  const { caller } = scope.options;
  const { item } = some;
  if (caller === undefined || item === null) return null;
  const terms = item.type === "and" ? item.items : [item];
  const naming = terms.find((term) => callerPath(term) !== null);
  const path = naming === undefined ? null : callerPath(naming);
  if (path === null) return null;
  const { tables, conditions, inner } = some.type === "some" ? enterPointing(scope, some) : enterItems(scope, some);
  const all = [...conditions, ...terms.filter((term) => term !== naming).map((term) => inner.compile(term))];
  const where = all.length === 0 ? "" : " WHERE ";
  const named = `${caller}.id IN (SELECT ${inner.column(path.field.column)} FROM ${tables.join(", ")}${where}`;
  return join([named, allOf(all), ")"]);
}

/** Some record that fulfils `item` points to this record. */
function pointedBy(scope: Scope, { target, pointer, item }: Omit<Some, "type" | "from">): Sql {
  const inner = scope.inside();
  const conditions = [...inner.probes(), ...(item === null ? [] : [inner.compile(item)]), ...inner.readable(target)];
  const table = `${identifier(target.table)} ${inner.alias}`;
  const [items, column] = [scope.newAlias(), inner.column(pointer.column)];
  const [id, tables] =
    pointer.items === undefined ? [column, table] : [`${items}.value`, `${table}, json_each(${column}) ${items}`];
  return join([`${scope.alias}.id IN (SELECT ${id} FROM ${tables} WHERE `, allOf(conditions), ")"]);
}

/** This record holds an item that fulfils `item`, or whose record does. */
function holdersOf(scope: Scope, { field, record }: SomeItem, item: Expression): Sql {
  const inner = scope.inside();
  const items = record === null ? inner.alias : scope.newAlias();
  const tables = [`${identifier(field.items.table)} ${items}`];
  const conditions = record === null ? inner.probes("record") : inner.probes();
  if (record !== null) {
    tables.push(`${identifier(record.table)} ${inner.alias}`);
    conditions.push(plain(`${items}.value = ${inner.alias}.id`), ...inner.readable(record));
  }
  const opening = `${scope.alias}._seq IN (SELECT ${items}.record FROM ${tables.join(", ")} WHERE `;
  return join([opening, allOf([...conditions, inner.compile(item)]), ")"]);
}

/** The column that holds an id of those that the lookup of a step finds; null for a step that looks at each record. */
export function lookedUpColumn({ from, item }: Some): string | null {
  return item !== null && isSelective(item) ? (from[0]?.field.column ?? "id") : null;
}

/** Whether an index finds the items that fulfil a condition. */
function findsItem({ record, item }: SomeItem): boolean {
  return item !== null && (record === null ? isSelective(item, isItemFound) : isSelective(item));
}

/**
 * Whether an index finds the records that fulfil a condition: a term compares an indexed field with a constant, and no term begins at
 * another record.
 */
function isSelective(item: Expression, isFound = isIndexedField): boolean {
  let isInside = true;
  eachOperand(item, (operand) => {
    if ((pathOf(operand)?.up ?? 0) > 0) isInside = false;
  });
  const terms = item.type === "and" ? item.items : [item];
  return isInside && terms.some((term) => findsByIndex(term, isFound));
}

/** Whether a term compares a path that `isFound` accepts with constants. */
function findsByIndex(term: Expression, isFound: (operand: Operand) => boolean): boolean {
  if (term.type === "someItem") return term.from.length === 0 && findsItem(term);
  if (term.type === "in") return isFound(term.left) && term.items.every(isConstant);
  if (term.type !== "compare" || term.operator !== "=") return false;
  const { left, right } = term;
  return (isFound(left) && isConstant(right)) || (isFound(right) && isConstant(left));
}

/** The own field that a term says is the caller's id; null for any other term. */
function callerPath(term: Expression): Path | null {
  if (term.type !== "compare" || term.operator !== "=") return null;
  const { left, right } = term;
  const path = isCallerId(right) ? left : isCallerId(left) ? right : null;
  // JSON holds the id in quotes.
  const isColumn = path?.type === "path" && path.up === 0 && path.hops.length === 0 && path.valueType !== "json";
  return isColumn ? path : null;
}

function isCallerId(operand: Operand): boolean {
  return operand.type === "macro" && operand.name === "user.id";
}

function isIndexedField(operand: Operand): boolean {
  return (
    operand.type === "path" && operand.hops.length === 0 && operand.members.length === 0 && operand.field.isIndexed
  );
}

/** An item, or a value of the record of the item, which is looked up first. */
function isItemFound(operand: Operand): boolean {
  return operand.type === "path" && operand.members.length === 0;
}
