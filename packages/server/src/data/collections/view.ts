/**
 * Views: read-only collections, whose records are the rows of a SELECT over collections. The service derives the fields of a
 * view from the SELECT; `sql/view-rows.ts` has the rows.
 *
 * A view shows the rows of the query to the callers that the rules of the view allow: the rules of the collections behind the
 * query do not count. Fields with a read rule cannot be read by a view.
 */
import {
  type CollectionDefinition,
  DEFINITION_LIMITS,
  effectiveRules,
  type FieldDefinition,
  isView,
  NAME_PATTERN,
  RECORD_TIMES,
  USERS,
} from "@socle/protocol";
import { isLiteral } from "@socle/protocol/filter";
import { AppError, nearest, quote } from "../../base/kernel/index.ts";
import { type SelectShape, type ShapeTable, selectShape } from "../../store/database/index.ts";
import { typeOf } from "../fields/index.ts";
import { ownerColumn } from "../permissions/index.ts";
import { MigrationError } from "./migration-error.ts";
import type { CollectionPlan, Definitions, PlanStep } from "./plan.ts";
import { viewColumns } from "./sql/view-rows.ts";

type ShapeColumn = SelectShape["columns"][number];

/** The collections that a view may read: no views, and not the users. */
function readable(definitions: Definitions): CollectionDefinition[] {
  return [...definitions.values()].filter((each) => !isView(each) && each.name !== USERS);
}

/** A view with the fields of its query. @throws MigrationError with the reason why the query cannot be a view. */
function derived(view: CollectionDefinition, definitions: Definitions): CollectionDefinition {
  const { query = "", fields: _, reads: __, name, ...others } = view;
  const sources = readable(definitions);
  const tables = sources.map((each): ShapeTable => {
    const columns = viewColumns(each).map(({ name, field }) => ({ name, affinity: typeOf(field).column }));
    return { name: each.name, columns };
  });
  const refuse = (problem: string): never => {
    throw new MigrationError(name, `"query": ${problem}`);
  };
  let shape: SelectShape;
  try {
    shape = selectShape(query, tables);
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    return refuse(`${thrown.message}${hintFor(thrown.message, definitions)}`);
  }
  const fields: FieldDefinition[] = [];
  const seen = new Set<string>();
  for (const [i, column] of shape.columns.entries()) {
    // SQLite numbers a repeated name.
    const called = column.name.replace(/:\d+$/, "");
    if (seen.has(called.toLowerCase())) refuse(`two columns are called ${quote(called)}; give one another name`);
    seen.add(called.toLowerCase());
    if (!NAME_PATTERN.test(called) || isLiteral(called))
      refuse(`column ${i + 1} is called ${quote(called)}, which is no name of a field; name the column with AS`);
    const field = fieldOfOrigin(column, definitions) ?? computedField(column);
    if (called === "id" && column.type !== "TEXT") refuse('"id" must be a text; write CAST(… AS TEXT) AS id');
    else if (field === null)
      refuse(`column "${called}" has no type; write CAST(… AS TEXT), CAST(… AS INTEGER) or CAST(… AS REAL)`);
    else if (RECORD_TIMES.some((time) => time === called) && field.type !== "datetime")
      refuse(`"${called}" must be a time of a record; give the column another name`);
    else if (called !== "id") fields.push({ ...field, name: called });
  }
  if (!seen.has("id") || fields.some((field) => field.name.toLowerCase() === "id"))
    refuse('the column "id" is missing, a text that no two rows share; name a column with AS id');
  if (fields.length > DEFINITION_LIMITS.fields)
    refuse(`${fields.length} columns are too many; at most ${DEFINITION_LIMITS.fields} are allowed`);
  const owners = fields.filter(({ owner }) => owner === true).map((field) => `"${field.name}"`);
  if (owners.length > 1) refuse(`${owners.join(" and ")} are owners; write CAST(… AS TEXT) for all but one`);
  if (owners.length === 0 && effectiveRules(view.permissions).read.includes("owner"))
    throw new MigrationError(
      name,
      `permissions: "read" is "owner", and the query selects no owner: select the owner field of a collection, or ${ownerColumn} AS owner`,
    );
  return { name, query, fields, reads: [...shape.tables], ...others };
}

/** A hint for a message of SQLite about a name. */
function hintFor(message: string, definitions: Definitions): string {
  const [, kind, name = ""] = /^no such (table|column): (?:.*\.)?(\w+)$/.exec(message) ?? [];
  if (kind === "table") {
    if (message.includes(".")) return "; write the name of the collection alone";
    const found = definitions.get(name);
    if (name.toLowerCase() === USERS || found !== undefined)
      return `; a view reads collections, ${found !== undefined && isView(found) ? "and no views" : "and not the users"}`;
    const near = nearest(
      name,
      readable(definitions).map((each) => each.name),
    );
    return near === null ? "; a view reads collections" : `; did you mean "${near}"?`;
  }
  const hidden = readable(definitions).find(({ fields }) =>
    fields.some((field) => field.name === name && field.permissions?.read !== undefined),
  );
  if (kind === "column" && hidden !== undefined)
    return `; "${hidden.name}.${name}" has a read rule of its own, so no view can read the field`;
  return message.startsWith("ambiguous column name") ? "; write the name of a table before the name" : "";
}

/** The field of a column that is a column of a collection; null for a computed column. */
function fieldOfOrigin({ origin }: ShapeColumn, definitions: Definitions): FieldDefinition | null {
  const source = origin === null ? undefined : definitions.get(origin.table);
  if (origin === null || source === undefined) return null;
  const { column: name } = origin;
  if (name === "id") return { name, type: "relation", collection: source.name };
  const found = viewColumns(source).find((each) => each.name === name)?.field;
  if (found === undefined) return null;
  if (name === ownerColumn) return { name, type: "relation", collection: USERS, owner: true };
  const { type, multiple, collection, format, owner, values, dimensions, metric } = found;
  // The items of a multiple field have a table beside the table of records.
  if (multiple === true) return { name, type: "json" };
  const kept = { ...(format && { format }), ...(owner && { owner }), ...(values && { values }) };
  const shape = { ...(dimensions && { dimensions }), ...(metric && { metric }) };
  return { name, type, ...(collection && { collection }), ...shape, ...kept };
}

function computedField({ name, type }: ShapeColumn): FieldDefinition | null {
  if (type === null) return null;
  return { name, type: ({ TEXT: "text", INTEGER: "integer", REAL: "float" } as const)[type] };
}

/**
 * The plans of the views after a change of definitions: views of the change, and views whose collections have other fields
 * from now on. Puts the derived views into `future`.
 * @param plans of the change: the plan of a view gets the derived definition and the steps.
 * @throws MigrationError for a view whose query cannot be a view any more.
 */
export function planViews(plans: CollectionPlan[], future: Map<string, CollectionDefinition>): CollectionPlan[] {
  const following: CollectionPlan[] = [];
  for (const view of [...future.values()].filter(isView)) {
    const at = plans.findIndex(({ after }) => after.name === view.name);
    const plan = plans[at];
    const next = derivedOrNamed(view, future, plan !== undefined);
    future.set(view.name, next);
    if (plan !== undefined) plans[at] = { ...plan, after: next, steps: [...plan.steps, ...stepsOf(plan.before, next)] };
    else if (JSON.stringify(view) !== JSON.stringify(next))
      following.push({ before: view, after: next, steps: [{ step: "query" }] });
  }
  return following;
}

/** @throws MigrationError, which names a view that the change does not contain: the change broke the view. */
function derivedOrNamed(view: CollectionDefinition, future: Definitions, isAsked: boolean): CollectionDefinition {
  try {
    return derived(view, future);
  } catch (thrown) {
    if (isAsked || !(thrown instanceof MigrationError)) throw thrown;
    const advice = "change or delete the view in the same change, or before";
    throw new MigrationError(
      view.name,
      `the view "${view.name}" reads what the change takes: ${thrown.message}; ${advice}`,
    );
  }
}

function stepsOf(before: CollectionDefinition | null, after: CollectionDefinition): PlanStep[] {
  if (before === null) return [{ step: "create" }];
  const { permissions: was, name: _, ...query } = before;
  const { permissions: is, name: __, ...next } = after;
  const isOther = JSON.stringify(query) !== JSON.stringify(next);
  const hasOtherRules = JSON.stringify(was) !== JSON.stringify(is);
  return [
    ...(isOther ? [{ step: "query" } as const] : []),
    ...(hasOtherRules ? [{ step: "permissions" } as const] : []),
  ];
}
