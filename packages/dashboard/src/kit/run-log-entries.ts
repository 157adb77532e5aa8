/** Log entries of a run for display: the stack of the last error, the fields that add facts. */
import type { LogEntry } from "@socle/protocol";

/** Hidden fields: the page around the log shows these fields, and the error shows the stack. */
const known: ReadonlySet<string> = new Set(["file", "runId", "eventId", "stack"]);

/** The other fields as JSON; an empty text without other fields. */
export function fieldsOf({ fields }: LogEntry): string {
  const others = Object.entries(fields ?? {}).filter(([name]) => !known.has(name));
  return others.length === 0 ? "" : JSON.stringify(Object.fromEntries(others));
}

/**
 * The stack of the newest error of a run; null for a log without a stack.
 * @param attempt of a job: each attempt has its own stack.
 */
export function lastStack(entries: readonly LogEntry[], attempt?: number): string | null {
  for (const { level, fields } of entries.toReversed()) {
    const stack = fields?.["stack"];
    if (level !== "ERROR" || typeof stack !== "string") continue;
    // The bundler names a default export `starDefault`.
    if (attempt === undefined || fields?.["attempt"] === attempt)
      return stack.replaceAll("at starDefault ", "at default ");
  }
  return null;
}
