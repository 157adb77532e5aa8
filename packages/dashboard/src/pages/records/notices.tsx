/** Notices in place of rows: an empty collection, no match, an error. */
import { Button, Code } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { IconDatabase, IconFilterOff, IconMoodPuzzled, IconPlus } from "@tabler/icons-react";
import { kinds } from "../../fields/index.ts";
import { ButtonLink, CopyAction, EmptyState, ErrorState } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { Rows } from "./data/use-rows.ts";
import classes from "./records.module.css";

export type Notice = "empty" | "nothing" | "filter" | "error";

/** The notice for a state of the rows; null with rows, or while rows load. */
export function noticeOf(rows: Rows, state: { isPartial: boolean; hasTextError: boolean }): Notice | null {
  if (rows.error !== null) return state.hasTextError ? "filter" : "error";
  if (rows.isLoading || rows.items.length > 0 || rows.spanCount > 0) return null;
  return state.isPartial ? "nothing" : "empty";
}

export function GridNotice(props: {
  notice: Notice;
  collection: CollectionEntry;
  rows: Rows;
  onNew: () => void;
  onClear: () => void;
  onUnsort: () => void;
}) {
  const { notice, collection, rows, onNew, onClear, onUnsort } = props;
  const command = createCommand(collection);
  return (
    <div className={classes["notice"]}>
      {notice === "error" && (
        <>
          <ErrorState error={rows.error} onRetry={rows.retry} />
          {rows.error?.message.startsWith('"sort"') === true && (
            <Button mx="md" variant="default" size="xs" onClick={onUnsort}>
              {text.records.wrongSort}
            </Button>
          )}
        </>
      )}
      {notice === "filter" && (
        <EmptyState icon={IconMoodPuzzled} title={text.records.wrongFilter} body={text.records.wrongFilterBody}>
          <Button variant="default" onClick={onClear}>
            {text.records.clearAll}
          </Button>
        </EmptyState>
      )}
      {notice === "nothing" && (
        <EmptyState icon={IconFilterOff} title={text.records.nothingTitle} body={text.records.nothingBody}>
          <Button variant="default" onClick={onClear}>
            {text.records.clearAll}
          </Button>
        </EmptyState>
      )}
      {notice === "empty" && (
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
      )}
    </div>
  );
}

function createCommand({ name, fields, permissions }: CollectionEntry): string {
  const required = fields.filter((field) => field.required === true);
  const shown = required.length > 0 ? required : fields.slice(0, 1);
  const values = shown.flatMap((field) => {
    const value = kinds[field.type].example;
    return value === undefined ? [] : [[field.name, field.multiple === true ? [value] : value] as const];
  });
  const isPublic = permissions === null || (permissions.create ?? permissions.read ?? "public") === "public";
  const token = isPublic ? "" : ' \\\n  -H "Authorization: Bearer $TOKEN"';
  const body = JSON.stringify(Object.fromEntries(values));
  return `curl ${window.location.origin}/api/${name} \\\n  -H "Content-Type: application/json"${token} \\\n  -d '${body}'`;
}
