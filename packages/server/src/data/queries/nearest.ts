/**
 * The order by `nearest(field, [numbers])`: the vectors of a field that are nearest to the numbers come first. Records without a vector
 * are left out of the list.
 */
import type { VectorMetric } from "@socle/protocol";
import { quote } from "../../base/kernel/index.ts";
import {
  type Expression,
  type ExpressionSchema,
  type Path,
  parsePath,
  pathSql,
  type SqlOptions,
  type SqlPart,
  sqlPart,
} from "../expressions/index.ts";
import { typeOf } from "../fields/index.ts";
import { refuseParameter, refusing } from "./query-text.ts";

/** The distance of a vector of a record from the numbers of a query. */
export interface Nearest {
  readonly type: "nearest";
  readonly argument: Path;
  readonly metric: VectorMetric;
  /** The numbers of the query in the stored form of a vector. */
  readonly wanted: string;
}

const callForm = /^nearest\(\s*([^\s,()[\]]+)\s*,\s*(\[[^\]]*\])\s*\)$/;

/** Whether a sort key is a call of `nearest`. */
export function isNearestText(text: string): boolean {
  return text.startsWith("nearest(");
}

/** @throws AppError `bad_request` for another form, another field, or numbers that are no vector of the field. */
export function parseNearest(text: string, schema: ExpressionSchema): Nearest {
  const [, name, list] = callForm.exec(text) ?? [];
  const numbers = list === undefined ? null : numbersIn(list);
  if (name === undefined || numbers === null)
    throw refuseParameter(
      "sort",
      `${quote(text)} must be nearest(field, [numbers]), as in nearest(${name ?? "embedding"}, [0.1, 0.2])`,
    );
  const argument = refusing("sort", () => parsePath(name, schema));
  const { vector } = argument.field;
  if (vector === undefined)
    throw refuseParameter("sort", `nearest(…) takes a field of type vector, and ${quote(name)} is none`);
  const type = typeOf({ type: "vector", ...vector });
  const wanted = type.encode(numbers);
  if (typeof wanted !== "string")
    throw refuseParameter(
      "sort",
      `the vector of nearest(${name}, …) ${type.problem?.(numbers) ?? `must be ${type.expected}`}`,
    );
  return { type: "nearest", argument, metric: vector.metric, wanted };
}

function numbersIn(list: string): unknown {
  try {
    return JSON.parse(list);
  } catch {
    return null;
  }
}

/** The distance as SQL. */
export function nearestSql({ argument, wanted, metric }: Nearest, table: string, options: SqlOptions): SqlPart {
  const query: SqlPart = { text: "?, ?", values: [wanted, metric] };
  return sqlPart`_nearest(${pathSql(argument, table, options)}, ${query})`;
}

/** The condition that a record has a vector. */
export function hasVector({ argument }: Nearest): Expression {
  return { type: "compare", operator: "!=", left: argument, right: { type: "value", value: null, valueType: "null" } };
}
