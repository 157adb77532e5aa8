/** The parameter `sort`: names of fields, or paths through relations; a `-` puts the greatest values first. */

import { quote } from "../../base/kernel/index.ts";
import { type Collection, indexesOf } from "../collections/index.ts";
import { type ExpressionSchema, inOrder, type Path, pathSql, type SqlOptions } from "../expressions/index.ts";
import type { KeyPlan } from "./plan.ts";
import { distinctPartsOf, nameIn, pathOf, refuseParameter } from "./query-text.ts";

const maxKeys = 5;

export interface Sort {
  readonly keys: readonly { readonly path: Path; readonly isDescending: boolean }[];
  /** Whether ties, which are broken by the order of creation, have the newest first. */
  readonly isSeqDescending: boolean;
}

function parseKey(part: string, schema: ExpressionSchema): Sort["keys"][number] {
  const name = nameIn(part);
  const word = /^(\S+)\s+(asc|desc)$/i.exec(name);
  if (word !== null) {
    const meant = word[2]?.toLowerCase() === "desc" ? `-${word[1]}` : word[1];
    throw refuseParameter("sort", `${quote(name)} is no field; did you mean "${meant}"?`);
  }
  const path = pathOf(name, "sort", schema);
  if (path.valueType === "json" && path.members.length === 0)
    throw refuseParameter("sort", `${quote(name)} is JSON; name what is in it, such as ${name}.size`);
  return { path: inOrder(path), isDescending: part.startsWith("-") };
}

/**
 * @param text without a text, the newest records come first.
 * @throws AppError `bad_request`; `unauthorized` or `forbidden` for a path to records that the caller may not read.
 */
export function parseSort(text: string | undefined, collection: Collection, schema: ExpressionSchema): Sort {
  if (text === undefined && collection.isChronological) return { keys: [], isSeqDescending: true };
  const parts = distinctPartsOf(text ?? "-createdAt", "sort", { most: maxKeys, kind: "fields" });
  const keys = parts.map((part) => parseKey(part, schema));
  const last = keys.at(-1);
  const isSeqDescending = last?.isDescending ?? true;
  // The stored order needs no index.
  const isCreation = last?.path.hops.length === 0 && last.path.field.name === "createdAt";
  const isIndexed = indexesOf(collection.definition).some(({ fields }) => fields.includes("createdAt"));
  const isStored = isCreation && !isIndexed && collection.isChronological;
  return { keys: isStored ? keys.slice(0, -1) : keys, isSeqDescending };
}

/** Whether some record may have no value at the end of a path. */
function isNullable(path: Path, collection: Collection): boolean {
  if (path.hops.length > 0 || path.members.length > 0) return true;
  const field = collection.definition.fields.find(({ name }) => name === path.field.name);
  return field !== undefined && field.required !== true && field.sequence === undefined;
}

/** The sort keys as SQL. @param at the quoted SQL name of the collection's table, and how paths are compiled. */
export function keyPlans(
  keys: Sort["keys"],
  collection: Collection,
  at: { table: string; options: SqlOptions },
): KeyPlan[] {
  return keys.map(({ path, isDescending }) => {
    const { text, values } = pathSql(path, at.table, at.options);
    const isField = path.hops.length === 0 && path.members.length === 0 && path.field.order === undefined;
    return {
      text,
      values,
      isDescending,
      isNullable: isNullable(path, collection),
      valueType: path.valueType,
      ...(isField && { field: path.field.name }),
    };
  });
}
