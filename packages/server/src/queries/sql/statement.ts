/** Statements of a run: how the parts of a plan are put together, and how their constants get values. */
import { type RowReader, stopProbe, type Value } from "../../database/index.ts";
import { bind as bindConstants, type EvaluationContext } from "../../expressions/index.ts";
import type { SqlPart } from "../plan.ts";

/** A reader of one snapshot, and the time and the caller for which it reads. */
export interface Run {
  readonly reader: RowReader;
  readonly context: EvaluationContext;
  /** Whether its statements can be stopped, as on a thread. */
  readonly isProbed: boolean;
}

/** A statement with the values of its parameters. */
export interface Statement {
  readonly sql: string;
  readonly values: Value[];
}

/** The values of an SQL part, with the constants of this run. */
export function bind({ values }: SqlPart, context: EvaluationContext): Value[] {
  return bindConstants(values, context);
}

/** A WHERE of the parts that are there, with the stop probe before them. It begins with a space, or is empty. */
export function conditionSql(
  { isProbed }: Pick<Run, "isProbed">,
  table: string,
  parts: readonly (SqlPart | null)[],
): SqlPart {
  const all = parts.filter((part) => part !== null);
  const texts = [...(isProbed ? [stopProbe(table)] : []), ...all.map(({ text }) => text)];
  return {
    text: texts.length === 0 ? "" : ` WHERE ${texts.join(" AND ")}`,
    values: all.flatMap(({ values }) => values),
  };
}
