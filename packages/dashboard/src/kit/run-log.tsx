/** Log of a run of a function or job, and its error with the stack. */
import type { LogEntry } from "@socle/protocol";
import type { UseQueryResult } from "@tanstack/react-query";
import { text } from "../texts/index.ts";
import { TextLink } from "./action.tsx";
import { DetailsSection } from "./details-drawer.tsx";
import { formatClock, visible } from "./format.ts";
import classes from "./run-log.module.css";
import { QueryView, RowsSkeleton } from "./states.tsx";
import { Dim } from "./words.tsx";

export function RunLog({ query, runId }: { query: UseQueryResult<readonly LogEntry[]>; runId: string }) {
  return (
    <DetailsSection
      title={text.runs.log}
      actions={
        <TextLink to="/logs" search={{ search: runId }}>
          {text.runs.openLog}
        </TextLink>
      }
    >
      <QueryView query={query} skeleton={<RowsSkeleton rows={2} height={20} />}>
        {(entries) =>
          entries.length === 0 ? (
            <Dim size="sm">{text.runs.noLog}</Dim>
          ) : (
            <ol className={`plain ${classes["entries"]}`} aria-label={text.runs.log}>
              {entries.map((entry, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: entries have no id, and come at the end alone.
                <Entry key={at} entry={entry} />
              ))}
            </ol>
          )
        }
      </QueryView>
    </DetailsSection>
  );
}

/** The most characters of a message or of its fields to show. */
const longest = 2_000;

function Entry({ entry }: { entry: LogEntry }) {
  const { timestamp, level, message } = entry;
  const fields = fieldsOf(entry);
  return (
    <li className={classes["entry"]} data-level={level}>
      <time dateTime={timestamp} className="quiet">
        {formatClock(timestamp)}
      </time>
      <span className={classes["level"]}>{level}</span>
      <span className={classes["message"]}>
        {visible(message.slice(0, longest))}
        {fields !== "" && <span className="quiet"> {fields.slice(0, longest)}</span>}
      </span>
    </li>
  );
}

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
