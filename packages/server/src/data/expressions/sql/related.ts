/**
 * Related records: backward steps, and comparisons at the end of relations. A backward step becomes EXISTS. When an
 * index finds the records that fulfil the condition, the step becomes a lookup: SQL finds these records once, and then
 * the records that these point to.
 */
import { identifier } from "../../../store/database/index.ts";
import {
  columnOf,
  type Expression,
  type Hop,
  isConstant,
  type Operand,
  operandsIn,
  type Path,
  partsOf,
  pathOf,
  type Some,
  type SomeItem,
} from "../expression.ts";
import { fromWhere, plain, type Scope, type SqlPart, sqlPart } from "./scope.ts";

/**
 * Some record that points to the end of `from`, some item of the field, or the record of an item, fulfils `item`. The
 * items are read from the JSON of the record, which a state outside of tables has, too. When an index finds the items,
 * the table of items leads to the records.
 */
export function someSql(scope: Scope, some: Some | SomeItem): SqlPart {
  const callers = callersAmong(scope, some);
  if (callers !== null) return callers;
  const { from, item } = some;
  if (item !== null && scope.options.isOfOneRecord !== true && isSought(some))
    return lookUp(scope, from, (at) => (some.type === "some" ? pointedBy(at, some) : holdersOf(at, some, item)));
  const { tables, conditions, inner } = enter(scope, some);
  const all = [...conditions, ...(item === null ? [] : [inner.compile(item)])];
  return sqlPart`EXISTS (SELECT 1${fromWhere(tables, all)})`;
}

/** The tables of a condition, the joins, and the scope at the end. */
interface Entered {
  readonly tables: readonly string[];
  readonly conditions: readonly SqlPart[];
  readonly inner: Scope;
}

function enter(scope: Scope, some: Some | SomeItem): Entered {
  return some.type === "some" ? enterPointing(scope, some) : enterItems(scope, some);
}

/** The readable records that point to the end of `from`. */
function enterPointing(scope: Scope, { up, from, target, pointer }: Some): Entered {
  const { tables, conditions, alias } = scope.enter(from, up);
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
 * probes only for items that lead to several records.
 */
function enterItems(scope: Scope, { up, from, field, record, item }: SomeItem): Entered {
  const { tables, conditions, alias } = scope.enter(from, up);
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
  return expression.type === "some" || expression.type === "someItem" || partsOf(expression).some(leadsToSeveral);
}

/** A condition on the column at the end of relations, which NULL does not meet: looked up from the end. */
export function lookUpColumn(scope: Scope, path: Path, condition: (column: string, at: Scope) => SqlPart): SqlPart {
  return lookUp(scope, path.hops, (at) => condition(at.column(columnOf(path)), at));
}

/** The records with relations that lead to records that fulfil a condition, looked up from the end. */
function lookUp(scope: Scope, hops: readonly Hop[], atEnd: (scope: Scope) => SqlPart): SqlPart {
  const [hop, ...rest] = hops;
  if (hop === undefined) return atEnd(scope);
  const inner = scope.beside();
  const conditions = [...inner.probes(), lookUp(inner, rest, atEnd), ...inner.readable(hop.target)];
  const table = `${identifier(hop.target.table)} ${inner.alias}`;
  const column = scope.column(hop.field.column);
  const isOfOne = scope.options.isOfOneRecord === true;
  if (isOfOne) conditions.unshift(plain(`${inner.alias}.id = ${column}`));
  const opening = isOfOne ? "EXISTS (SELECT 1" : `${column} IN (SELECT ${inner.alias}.id`;
  return sqlPart`${opening}${fromWhere([table], conditions)})`;
}

/**
 * The condition that the caller is among the users that the records, or the items, name: SQL reads these users once for all callers.
 * Null when no term of `item` names the caller, or the caller is a constant.
 */
function callersAmong(scope: Scope, some: Some | SomeItem): SqlPart | null {
  const { caller } = scope.options;
  const { item } = some;
  if (caller === undefined || item === null) return null;
  const terms = item.type === "and" ? item.items : [item];
  const naming = terms.find((term) => callerPath(term) !== null);
  const path = naming === undefined ? null : callerPath(naming);
  if (path === null) return null;
  const { tables, conditions, inner } = enter(scope, some);
  const all = [...conditions, ...terms.filter((term) => term !== naming).map((term) => inner.compile(term))];
  return sqlPart`${caller}.id IN (SELECT ${inner.column(path.field.column)}${fromWhere(tables, all)})`;
}

/** Some record that fulfils `item` points to this record. */
function pointedBy(scope: Scope, { target, pointer, item }: Some): SqlPart {
  const inner = scope.inside();
  const conditions = [...inner.probes(), ...(item === null ? [] : [inner.compile(item)]), ...inner.readable(target)];
  const table = `${identifier(target.table)} ${inner.alias}`;
  const [items, column] = [scope.newAlias(), inner.column(pointer.column)];
  const [id, tables] =
    pointer.items === undefined ? [column, [table]] : [`${items}.value`, [table, `json_each(${column}) ${items}`]];
  return sqlPart`${scope.alias}.id IN (SELECT ${id}${fromWhere(tables, conditions)})`;
}

/** This record holds an item that fulfils `item`, or an item with a record that does. */
function holdersOf(scope: Scope, { field, record }: SomeItem, item: Expression): SqlPart {
  const inner = scope.inside();
  const items = record === null ? inner.alias : scope.newAlias();
  const tables = [`${identifier(field.items.table)} ${items}`];
  const conditions = record === null ? inner.probes("record") : inner.probes();
  if (record !== null) {
    tables.push(`${identifier(record.table)} ${inner.alias}`);
    conditions.push(plain(`${items}.value = ${inner.alias}.id`), ...inner.readable(record));
  }
  const all = [...conditions, inner.compile(item)];
  return sqlPart`${scope.alias}._seq IN (SELECT ${items}.record${fromWhere(tables, all)})`;
}

/** The column that holds an id of the records that the lookup of a step finds; null for a step that looks at each record. */
export function lookedUpColumn(some: Some): string | null {
  return isSought(some) ? (some.from[0]?.field.column ?? "id") : null;
}

/** Whether an index finds the records, or the items, that fulfil the condition of a step. */
function isSought(some: Some | SomeItem): boolean {
  const { up, item } = some;
  if (item === null || up > 0) return false;
  return some.type === "someItem" && some.record === null ? isSelective(item, isItemFound) : isSelective(item);
}

/** Whether an index finds the records: a term compares an indexed field with a constant, and no term begins elsewhere. */
function isSelective(item: Expression, isFound = isIndexedField): boolean {
  const isInside = operandsIn(item).every((operand) => (pathOf(operand)?.up ?? 0) === 0) && !leadsFromOutside(item);
  const terms = item.type === "and" ? item.items : [item];
  return isInside && terms.some((term) => findsByIndex(term, isFound));
}

/** Whether a step to several begins at a record outside. */
function leadsFromOutside(expression: Expression): boolean {
  const isOfSeveral = expression.type === "some" || expression.type === "someItem";
  return (isOfSeveral && expression.up > 0) || partsOf(expression).some(leadsFromOutside);
}

/** Whether a term compares a path that `isFound` accepts with constants. */
function findsByIndex(term: Expression, isFound: (operand: Operand) => boolean): boolean {
  if (term.type === "someItem") return term.from.length === 0 && isSought(term);
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
