/** Notices in place of rows: an empty collection, no match, an error. */
import { Button, Stack } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { IconDatabase, IconFilterOff, IconMoodPuzzled, IconPlus } from "../../icons/index.ts";
import { Action, CodeBlock, EmptyState, ErrorState, LinkAction } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { exampleRecord } from "./snippets/example.ts";
import { snippet } from "./snippets/requests.ts";
import type { RecordsPage } from "./use-records-page.ts";

type Notice = "empty" | "nothing" | "filter" | "error";

/** The notice for a state of the page; null with rows, or while rows load. */
export function noticeOf({ shown: { rows }, isPartial, filterError, searchError }: RecordsPage): Notice | null {
  if (rows.error !== null) return filterError !== undefined || searchError !== undefined ? "filter" : "error";
  if (rows.isLoading || rows.items.length > 0 || rows.spanCount > 0) return null;
  return isPartial ? "nothing" : "empty";
}

export function GridNotice({ notice, page }: { notice: Notice; page: RecordsPage }) {
  const { setSearch } = page;
  const { rows } = page.shown;
  const clearAll = (): void => setSearch({ filter: undefined, search: undefined });
  const clear = <Action label={text.records.clearAll} size="sm" onClick={clearAll} />;
  return (
    <div>
      {notice === "error" && <ErrorState error={rows.error} onRetry={rows.retry} />}
      {notice === "error" && rows.error?.message.startsWith('"sort"') === true && (
        <Action label={text.records.wrongSort} mx="md" onClick={() => setSearch({ sort: undefined })} />
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
      {notice === "empty" && <EmptyCollection page={page} />}
    </div>
  );
}

function EmptyCollection({ page: { collection, open } }: { page: RecordsPage }) {
  return (
    <EmptyState
      icon={IconDatabase}
      title={text.records.emptyTitle}
      body={
        <Stack gap="xs">
          {text.records.emptyBody}
          <CodeBlock
            value={createCommand(collection)}
            label={text.snippets.code(text.snippets.requests.create)}
            isUnbroken
          />
        </Stack>
      }
    >
      <Button leftSection={<IconPlus size={16} />} onClick={() => open("new")}>
        {text.records.new}
      </Button>
      <LinkAction
        label={text.records.import}
        to="/collections/$name/import"
        params={{ name: collection.name }}
        size="sm"
      />
    </EmptyState>
  );
}

/** The command that creates a first record, with the required fields. */
function createCommand({ name, fields, permissions }: CollectionEntry): string {
  const required = fields.filter((field) => field.required === true);
  const values = exampleRecord(required.length > 0 ? required : fields.slice(0, 1), new Map());
  return snippet("create", "curl", { baseUrl: window.location.origin, collection: name, permissions, values });
}
