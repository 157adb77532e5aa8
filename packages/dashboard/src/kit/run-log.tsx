/** Log of one run of a function or job, and its error with the stack. */
import { Anchor, Text } from "@mantine/core";
import type { LogEntry } from "@socle/protocol";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { text } from "../texts/index.ts";
import { DetailsSection } from "./details-drawer.tsx";
import { formatClock } from "./format.ts";
import { QueryView } from "./query-view.tsx";
import classes from "./run-log.module.css";
import { fieldsOf } from "./run-log-entries.ts";
import { RowsSkeleton } from "./states.tsx";

export function RunLog({ query, runId }: { query: UseQueryResult<readonly LogEntry[]>; runId: string }) {
  return (
    <DetailsSection
      title={text.runs.log}
      actions={
        <Anchor renderRoot={(props) => <Link to="/logs" search={{ search: runId }} {...props} />} size="sm">
          {text.runs.openLog}
        </Anchor>
      }
    >
      <QueryView query={query} skeleton={<RowsSkeleton rows={2} height={20} />}>
        {(entries) =>
          entries.length === 0 ? (
            <Text size="sm" c="dimmed">
              {text.runs.noLog}
            </Text>
          ) : (
            <ol className={classes["entries"]} aria-label={text.runs.log}>
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

/** Characters of a message or of its fields that are shown. */
const longest = 2_000;

function Entry({ entry }: { entry: LogEntry }) {
  const { timestamp, level, message } = entry;
  const fields = fieldsOf(entry);
  return (
    <li className={classes["entry"]} data-level={level}>
      <time dateTime={timestamp} className={classes["time"]}>
        {formatClock(timestamp)}
      </time>
      <span className={classes["level"]}>{level}</span>
      <span className={classes["message"]}>
        {message.slice(0, longest)}
        {fields !== "" && <span className={classes["fields"]}> {fields.slice(0, longest)}</span>}
      </span>
    </li>
  );
}
