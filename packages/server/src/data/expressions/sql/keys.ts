/**
 * Keys: a condition as `project.workspace.members(workspace)[user = @user.id]` leads from records that an index finds, the
 * memberships of a caller, through relations to the record. The keys are the ids that the relation of the record may hold then. Each
 * step of the lookup uses an index and reads a bounded number of rows.
 */
import { identifier } from "../../../store/database/index.ts";
import type { SchemaField } from "../expression.ts";
import {
  type Expression,
  eachOperand,
  isConstant,
  isNull,
  isOwn,
  type Operand,
  type Path,
  pathOf,
  type Some,
} from "../expression.ts";
import { Scope, type SqlOptions } from "./scope.ts";
import { allOf, join, plain, type Sql } from "./text.ts";

/** A condition that is equivalent to: the field of the record holds a key. */
export interface Keyed {
  /** The field: a relation, or the record's own id. */
  readonly field: SchemaField;
  /** The keys, as rows with the column `id`, and a null row for a step with more than `most` rows. */
  lookUp(most: number): Sql;
}

const ownId: SchemaField = { name: "id", valueType: "text", column: "id", isRelation: false, isIndexed: true };

/** The keys of a condition; null for a condition without keys. @param compile compiles a condition over a row. */
export function keyedBy(
  condition: Expression,
  options: SqlOptions,
  compile: (expression: Expression, scope: Scope) => Sql,
): Keyed | null {
  if (condition.type !== "some" || !isOpen(condition)) return null;
  const { from, pointer, item } = condition;
  // A multiple field, which holds several ids, has no index of its own.
  if (item === null || ![pointer, ...from.map(({ field }) => field)].every(({ isIndexed }) => isIndexed)) return null;
  const terms = item.type === "and" ? item.items : [item];
  const found = terms.find(isFoundByIndex);
  const rest = terms.filter((term) => term !== found);
  if (found === undefined || !rest.every(asksRowAlone)) return null;
  const lookUp = (most: number): Sql => {
    const scope = Scope.of("_r0", options, compile);
    const steps = [firstStep(scope.inside(), condition, { found, rest, most }), ...stepsBack(scope, condition, most)];
    const last = `SELECT id FROM _step${steps.length - 1}`;
    const tooMany = steps.map((_, i) => `(SELECT count(*) FROM _step${i}) > ${most}`).join(" OR ");
    const all = steps.map((step, i) => join([`${i === 0 ? "" : ", "}_step${i} AS MATERIALIZED (`, step, ")"]));
    return join(["WITH ", join(all), ` ${last} WHERE id IS NOT NULL UNION ALL SELECT NULL WHERE ${tooMany}`]);
  };
  return { field: from[0]?.field ?? ownId, lookUp };
}

/** The values of the pointer in the records that the index finds; null for records that do not fulfil the rest. */
function firstStep(
  scope: Scope,
  { target, pointer }: Some,
  { found, rest, most }: { found: Expression; rest: readonly Expression[]; most: number },
): Sql {
  const column = scope.column(pointer.column);
  const value =
    rest.length === 0
      ? plain(column)
      : join(["CASE WHEN ", allOf(rest.map((term) => scope.compile(term))), ` THEN ${column} END`]);
  const table = `${identifier(target.table)} ${scope.alias}`;
  return join(["SELECT ", value, ` AS id FROM ${table} WHERE `, scope.compile(found), ` LIMIT ${most + 1}`]);
}

/** The records along the relations, from the end: a record by its id, then the records that point to that record. */
function stepsBack(scope: Scope, { from }: Some, most: number): Sql[] {
  return [...from].reverse().map(({ target }, i) => {
    const { alias } = scope.inside();
    // The relation that leads on from here, towards the end.
    const next = from[from.length - i];
    const column = next === undefined ? "id" : next.field.column;
    const within = `${alias}.${identifier(column)} IN (SELECT id FROM _step${i})`;
    return plain(`SELECT ${alias}.id FROM ${identifier(target.table)} ${alias} WHERE ${within} LIMIT ${most + 1}`);
  });
}

/** Whether all records that are entered count, as inside a rule. */
function isOpen({ from, target }: Some): boolean {
  return target.condition === null && from.every((hop) => hop.target.condition === null);
}

function isFoundByIndex(term: Expression): boolean {
  if (term.type !== "compare" || term.operator !== "=") return false;
  const { left, right } = term;
  return (isIndexed(left) && isValue(right)) || (isIndexed(right) && isValue(left));
}

function isValue(operand: Operand): boolean {
  return isConstant(operand) && !isNull(operand);
}

function isIndexed(operand: Operand): operand is Path {
  return operand.type === "path" && isOwn(operand) && operand.members.length === 0 && operand.field.isIndexed;
}

/** Whether a condition reads nothing but the row itself. */
function asksRowAlone(term: Expression): boolean {
  if (term.type === "some" || term.type === "someItem") return false;
  if (term.type === "not") return asksRowAlone(term.item);
  if (term.type === "and" || term.type === "or") return term.items.every(asksRowAlone);
  let isAlone = true;
  eachOperand(term, (operand) => {
    const path = pathOf(operand);
    if (path !== null && !isOwn(path)) isAlone = false;
    if (operand.type === "macro" && operand.name === "user.email") isAlone = false;
  });
  return isAlone;
}
