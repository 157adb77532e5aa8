/** Log entries of one run, as they are shown: the stack of its last error, the fields that say something new. */
import type { LogEntry } from "@socle/protocol";

/** Fields that are not shown: the page around the log has them, and the error shows the stack. */
const known: ReadonlySet<string> = new Set(["file", "runId", "eventId", "stack"]);

/** The other fields as JSON; empty without any. */
export function fieldsOf({ fields }: LogEntry): string {
  const others = Object.entries(fields ?? {}).filter(([name]) => !known.has(name));
  return others.length === 0 ? "" : JSON.stringify(Object.fromEntries(others));
}

/**
 * The stack of the newest error of a run; null when the log has none.
 * @param attempt of a job: each attempt has a stack of its own.
 */
export function lastStack(entries: readonly LogEntry[], attempt?: number): string | null {
  for (const { level, fields } of entries.toReversed()) {
    const stack = fields?.["stack"];
    if (level !== "ERROR" || typeof stack !== "string") continue;
    // The bundler names a default export so.
    if (attempt === undefined || fields?.["attempt"] === attempt)
      return stack.replaceAll("at starDefault ", "at default ");
  }
  return null;
}
