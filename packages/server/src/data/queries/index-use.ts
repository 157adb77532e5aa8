/**
 * Index use: whether one index answers a list, decided from the definition before the list is read.
 *
 * An index answers a list when all conditions of the list are comparisons of own fields with constants, and the index holds the
 * fields that are compared for equality, then the fields of the order, and nothing more. SQLite then reads a single range of the
 * index, in order, and no row in vain: the size of the page bounds the work, and the list runs on the event loop.
 *
 * A rule by membership, as `team.members(team)[user = @user.id]`, leads from the caller's records to the ids that a field may hold. An
 * index that answers the list for one id has a range for each. SQLite reads a page of each range at most, so the caller's memberships
 * bound the work, and the list is tried on the event loop with a bound on the rows.
 */
import { type Collection, columnsOf, type TableIndex, tableIndexes } from "../collections/index.ts";
import {
  columnOf,
  type Expression,
  isConstant,
  isNull,
  lookedUpColumn,
  type Operand,
  type Path,
} from "../expressions/index.ts";
import type { Sort } from "./sort.ts";

/** Records that may be skipped on the event loop. */
const maxOffset = 1_000;

export interface IndexUse {
  /** Whether SQLite reads the rows of the page and no others. */
  readonly isBounded: boolean;
  /** Whether the bound holds for each id that a condition leads to: how many ids there are is not known before. */
  readonly isLookedUp: boolean;
  /** Whether an index, or the table itself, gives the order. */
  readonly isOrdered: boolean;
}

/** The columns that conditions compare with constants. */
interface Compared {
  /** Compared with `=`. */
  readonly equal: Set<string>;
  /** Compared with `=` or `in`, and not with null: a unique index has a single row for each value. */
  readonly points: Set<string>;
  /** Compared with the ids that a condition leads to. */
  readonly lookedUp: Set<string>;
  /** Compared with `in`: an index has several ranges for the values, in no common order. */
  readonly listed: Set<string>;
  /** Bounds, as `count >`: SQLite looks at a second bound of a kind row by row. */
  readonly bounds: Map<string, string>;
}

/** @param conditions that must all hold. */
export function indexUseOf(
  collection: Collection,
  conditions: readonly Expression[],
  { sort, offset }: { sort: Sort; offset: number },
): IndexUse {
  const compared: Compared = {
    equal: new Set(),
    points: new Set(),
    lookedUp: new Set(),
    listed: new Set(),
    bounds: new Map(),
  };
  const isPlain = conditions.every((condition) => compare(condition, compared));
  const indexes = indexesOf(collection);
  const { equal, points, lookedUp, listed, bounds } = compared;
  const isOne = indexes.some(({ columns, unique }) => unique && columns.every((column) => points.has(column)));
  const sorted = columnsOfSort(collection, sort)?.filter((column) => !equal.has(column)) ?? null;
  const orders = [[], ...indexes.map(({ columns }) => columns)].filter(
    (columns) => sorted !== null && givesOrder(columns, equal, sorted),
  );
  const answers = (columns: readonly string[]): boolean =>
    listed.size === 0 &&
    columns.length === equal.size + (sorted?.length ?? 0) &&
    [...bounds.values()].every((column) => column === sorted?.[0]);
  const isNear = offset <= (lookedUp.size > 0 ? 0 : maxOffset);
  const isBounded = isPlain && isNear && (isOne || orders.some(answers));
  return { isBounded, isLookedUp: isBounded && lookedUp.size > 0, isOrdered: orders.length > 0 };
}

const known = new WeakMap<Collection, readonly TableIndex[]>();

/** The indexes of a collection, looked up once for its definition. */
function indexesOf(collection: Collection): readonly TableIndex[] {
  let indexes = known.get(collection);
  if (indexes === undefined) {
    indexes = [{ columns: ["id"], unique: true }, ...tableIndexes(collection.definition)];
    known.set(collection, indexes);
  }
  return indexes;
}

/** Whether an index has some of the equal columns, then the sorted columns and nothing more: rows with the same key follow `_seq`. */
function givesOrder(columns: readonly string[], equal: ReadonlySet<string>, sorted: readonly string[]): boolean {
  const start = columns.length - sorted.length;
  return (
    start >= 0 &&
    columns.slice(0, start).every((column) => equal.has(column)) &&
    sorted.every((column, i) => columns[start + i] === column)
  );
}

/** The columns of an order that an index can give: own fields, all in the direction of the order of creation. */
function columnsOfSort({ definition }: Collection, { keys, isSeqDescending }: Sort): string[] | null {
  const isIndexable = keys.every(({ path, isDescending }) => isOwnColumn(path) && isDescending === isSeqDescending);
  if (!isIndexable) return null;
  if (keys.length === 0) return [];
  return columnsOf(
    definition,
    keys.map(({ path }) => path.field.name),
  );
}

/** Notes the columns of a condition; false for a condition that no index answers. */
function compare(condition: Expression, compared: Compared): boolean {
  switch (condition.type) {
    case "some": {
      const column = lookedUpColumn(condition);
      const { equal, lookedUp } = compared;
      if (column === null || lookedUp.size > 0) return false;
      // A unique index has a row for each of the ids: an order that no index gives would sort all of these rows.
      for (const columns of [equal, lookedUp]) columns.add(column);
      return true;
    }
    case "and":
      return condition.items.every((item) => compare(item, compared));
    case "in": {
      const { left, items } = condition;
      if (!isOwnColumn(left) || !items.every((item) => isConstant(item) && !isNull(item))) return false;
      compared.points.add(columnOf(left));
      compared.listed.add(columnOf(left));
      return true;
    }
    case "compare":
      return compareColumn(condition, compared);
    default:
      return false;
  }
}

function compareColumn(
  { operator, left, right }: Extract<Expression, { type: "compare" }>,
  { equal, points, lookedUp, bounds }: Compared,
): boolean {
  const path = isOwnColumn(left) ? left : isOwnColumn(right) ? right : null;
  const constant = path === left ? right : left;
  // SQLite computes a function of a field, as lower(name), for each row.
  if (path === null || !isConstant(constant)) return false;
  const column = columnOf(path);
  if (operator === "=") {
    // A second comparison of the same column is looked at row by row.
    if (equal.has(column) && !lookedUp.has(column)) return false;
    equal.add(column);
    if (!isNull(constant)) points.add(column);
    return true;
  }
  if (operator === "!=" || operator === "~" || operator === "!~") return false;
  const isLower = operator.startsWith(">") === (path === left);
  const bound = `${column} ${isLower ? ">" : "<"}`;
  if (bounds.has(bound)) return false;
  bounds.set(bound, column);
  return true;
}

function isOwnColumn(operand: Operand): operand is Path {
  return operand.type === "path" && operand.hops.length === 0 && operand.valueType !== "json";
}
