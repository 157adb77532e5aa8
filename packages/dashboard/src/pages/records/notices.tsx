/** Notices in place of rows: an empty collection, no match, an error. */
import { Button, Code } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { IconDatabase, IconFilterOff, IconMoodPuzzled, IconPlus } from "@tabler/icons-react";
import { ButtonLink, CopyAction, EmptyState, ErrorState } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { Rows } from "./data/use-rows.ts";
import classes from "./records.module.css";
import { exampleRecord } from "./snippets/example.ts";
import { snippet } from "./snippets/requests.ts";

export type Notice = "empty" | "nothing" | "filter" | "error";

/** The notice for a state of the rows; null with rows, or while rows load. */
export function noticeOf(rows: Rows, state: { isPartial: boolean; hasTextError: boolean }): Notice | null {
  if (rows.error !== null) return state.hasTextError ? "filter" : "error";
  if (rows.isLoading || rows.items.length > 0 || rows.spanCount > 0) return null;
  return state.isPartial ? "nothing" : "empty";
}

interface GridNoticeProps {
  notice: Notice;
  collection: CollectionEntry;
  rows: Rows;
  onNew: () => void;
  onClear: () => void;
  onUnsort: () => void;
}

export function GridNotice(props: GridNoticeProps) {
  const { notice, rows, onClear, onUnsort } = props;
  const clear = (
    <Button variant="default" onClick={onClear}>
      {text.records.clearAll}
    </Button>
  );
  return (
    <div className={classes["notice"]}>
      {notice === "error" && <ErrorState error={rows.error} onRetry={rows.retry} />}
      {notice === "error" && rows.error?.message.startsWith('"sort"') === true && (
        <Button mx="md" variant="default" size="xs" onClick={onUnsort}>
          {text.records.wrongSort}
        </Button>
      )}
      {notice === "filter" && (
        <EmptyState icon={IconMoodPuzzled} title={text.records.wrongFilter} body={text.records.wrongFilterBody}>
          {clear}
        </EmptyState>
      )}
      {notice === "nothing" && (
        <EmptyState icon={IconFilterOff} title={text.records.nothingTitle} body={text.records.nothingBody}>
          {clear}
        </EmptyState>
      )}
      {notice === "empty" && <EmptyCollection {...props} />}
    </div>
  );
}

function EmptyCollection({ collection, onNew }: GridNoticeProps) {
  const command = createCommand(collection);
  return (
    <EmptyState
      icon={IconDatabase}
      title={text.records.emptyTitle}
      body={
        <>
          {text.records.emptyBody}
          <div className={classes["command"]}>
            <Code block>{command}</Code>
            <CopyAction value={command} />
          </div>
        </>
      }
    >
      <Button leftSection={<IconPlus size={16} />} onClick={onNew}>
        {text.records.new}
      </Button>
      <ButtonLink to="/collections/$name/import" params={{ name: collection.name }} variant="default">
        {text.records.import}
      </ButtonLink>
    </EmptyState>
  );
}

/** The command that creates a first record, with the required fields. */
function createCommand({ name, fields, permissions }: CollectionEntry): string {
  const required = fields.filter((field) => field.required === true);
  const values = exampleRecord(required.length > 0 ? required : fields.slice(0, 1), new Map());
  return snippet("create", "curl", { baseUrl: window.location.origin, collection: name, permissions, values });
}
