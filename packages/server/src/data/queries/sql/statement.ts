/** Statements of a run: how the parts of a plan are put together, and how their constants get values. */
import { type Reader, stopProbe, type Value } from "../../../store/database/index.ts";
import { bind as bindConstants, type EvaluationContext } from "../../expressions/index.ts";
import type { SqlPart } from "../plan.ts";

/** A reader of a snapshot, with the time and the caller. */
export interface Run {
  readonly reader: Reader;
  readonly context: EvaluationContext;
  /** Whether its statements can be stopped, as on a thread. */
  readonly isProbed: boolean;
}

/** The bytes of rows and of an answer on the event loop: about a millisecond of work. */
const maxLoopBytes = 256 * 1024;

/** The answer of a run is too large for the event loop: the query is for a thread. */
export class TooMuchForLoop extends Error {
  override readonly name = "TooMuchForLoop";
}

/** To be called with the bytes of a run so far. @throws TooMuchForLoop on the event loop. */
export function refuseOnLoop({ isProbed }: Pick<Run, "isProbed">, bytes: number): void {
  if (!isProbed && bytes > maxLoopBytes) throw new TooMuchForLoop();
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

/** A WHERE of the given parts, behind the stop probe: a text that begins with a space, or an empty text. */
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
