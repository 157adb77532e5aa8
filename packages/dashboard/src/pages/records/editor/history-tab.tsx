/** The history of a record: when, by whom, by which cause, the changed values; and the way back to an earlier version. */
import { Badge, Group, Stack, Text } from "@mantine/core";
import type { CollectionEntry, HistoryEntry, StoredRecord } from "@socle/protocol";
import { keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { IconArrowBackUp } from "../../../icons/index.ts";
import {
  Action,
  CauseText,
  confirmDanger,
  DiffView,
  Dim,
  ErrorState,
  formatDateTime,
  notifyChange,
  RelativeTime,
  RowsSkeleton,
  recordChanges,
  UndoAction,
  UndoCause,
  UserLink,
  Warning,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { isGone } from "../../../service/refusals.ts";
import { makeChange } from "../../../service/undo.ts";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";
import { recordQuery } from "./record-query.ts";
import { type Restoration, restorationOf } from "./versions.ts";

const words = text.history;
const pageSize = 20;

interface HistoryTabProps {
  collection: CollectionEntry;
  id: string;
  /** Null for a deleted record. */
  record: StoredRecord | null;
  /** Called with the record after the update that restored a version. */
  onRestored: (record: StoredRecord) => void;
}

export function HistoryTab({ collection, id, record, onRestored }: HistoryTabProps) {
  const query = useInfiniteQuery({
    queryKey: ["records", collection.name, "history", id, record?.updatedAt],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => client.collection(collection.name).history(id, { limit: pageSize, cursor: pageParam }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (query.data === undefined) {
    if (!query.isError) return <RowsSkeleton rows={4} height={56} />;
    return isGone(query.error) ? <Dim>{words.none}</Dim> : <ErrorState error={query.error} onRetry={query.refetch} />;
  }
  // The fields of the client's type are the fields of the collection.
  const entries = query.data.pages.flatMap(({ items }) => items as HistoryEntry[]);
  const isWhole = entries.at(-1)?.type === "created";
  return (
    <Stack gap="sm">
      {entries.length === 0 && <Text size="sm">{words.none}</Text>}
      <ol className="plain">
        {entries.map((entry, at) => (
          <Entry key={entry.seq} entry={entry}>
            {record !== null && at > 0 && entry.type !== "deleted" && entry.erased !== true && (
              <RestoreAction {...{ collection, record, entries, at, onRestored }} />
            )}
            {record === null && at === 0 && entry.type === "deleted" && (
              <UndoAction label={text.undo.deletion} selection={{ events: [entry.seq] }} size="compact-xs" ml="auto" />
            )}
          </Entry>
        ))}
      </ol>
      {query.isFetchNextPageError && <ErrorState error={query.error} onRetry={() => query.fetchNextPage()} />}
      {query.hasNextPage ? (
        <Action
          label={words.older}
          size="compact-sm"
          loading={query.isFetchingNextPage}
          onClick={() => query.fetchNextPage()}
          style={{ alignSelf: "center" }}
        />
      ) : (
        entries.length > 0 && <Dim>{isWhole ? words.all : words.logEnd}</Dim>
      )}
    </Stack>
  );
}

const colors = { created: "green", updated: "blue", deleted: "red" } as const;

function Entry({ entry, children }: { entry: HistoryEntry; children: React.ReactNode }) {
  const { type, at, by, cause, erased, partial } = entry;
  const changes = recordChanges(entry);
  const gone = new Set(Object.values(entry.changes).flatMap((change) => change.gone ?? []));
  return (
    <li className={classes["event"]}>
      <Group gap="4px 8px" fz="sm" mb={6}>
        <Badge size="sm" variant="default" color={colors[type]} tt="none">
          {words.kinds[type]}
        </Badge>
        <RelativeTime at={at} />
        <Text size="sm" c="dimmed" component="span">
          {by === null ? words.nobody : words.by} {by !== null && <UserLink id={by.id} nobody="" />}
        </Text>
        {children}
        {cause !== null && (
          <Dim w="100%">
            <CauseText cause={cause} /> {/* The request of a single change has the buttons of the record. */}
            {cause.kind !== "request" && <UndoCause cause={cause} size="compact-xs" isQuiet />}
          </Dim>
        )}
      </Group>
      {erased === true && <Dim>{words.erased}</Dim>}
      {partial === true && <Dim mb={4}>{words.partial}</Dim>}
      {type === "updated" && changes.length === 0 && erased !== true && <Dim>{words.noFieldChanged}</Dim>}
      {changes.length > 0 && <DiffView changes={changes} isPlain />}
      {gone.size > 0 && <Dim mt={4}>{words.gone(gone.size)}</Dim>}
    </li>
  );
}

interface RestoreProps extends Pick<HistoryTabProps, "collection" | "onRestored"> {
  record: StoredRecord;
  /** Newest first, at least down to the version. */
  entries: readonly HistoryEntry[];
  /** The place of the change that left the version. */
  at: number;
}

/** Asks with the differences, and restores the version by an update, for which the rules of fields and hooks apply. */
function RestoreAction({ collection, record, entries, at, onRestored }: RestoreProps) {
  const queryClient = useQueryClient();
  const { name } = collection;
  const restore = async ({ values }: Restoration): Promise<void> => {
    // The question was about the record as shown.
    const { value, change } = await makeChange(text.undo.changes.restored(name), (options) =>
      client.collection<StoredRecord>(name).update(record.id, values, { ...options, ifMatch: record }),
    );
    queryClient.setQueryData(recordQuery(name, record.id).queryKey, value);
    onRestored(value);
    notifyChange(words.restored, change);
  };
  const ask = (): void => {
    const restoration = restorationOf(collection, record, { entries, at });
    confirmDanger({
      title: words.restoreTitle,
      body: <RestoreBody restoration={restoration} time={formatDateTime(entries[at]?.at ?? "")} />,
      action: words.restoreAction,
      isPointless: restoration.changes.length === 0,
      onConfirm: () => restore(restoration),
    });
  };
  return <Action icon={IconArrowBackUp} label={words.restore} size="compact-xs" ml="auto" onClick={ask} />;
}

function RestoreBody({ restoration, time }: { restoration: Restoration; time: string }) {
  const { changes, goneFields, goneFiles, unknown, ofAccount, isErasedSince } = restoration;
  const notes = [
    ...(goneFields.length > 0 ? [words.goneFields(goneFields)] : []),
    ...(goneFiles.length > 0 ? [words.goneFiles(goneFiles)] : []),
    ...(unknown.length > 0 ? [words.unknown(unknown)] : []),
    ...(ofAccount.length > 0 ? [words.ofAccount(ofAccount)] : []),
    ...(isErasedSince ? [words.erasedSince] : []),
  ];
  return (
    <Stack gap="xs">
      {changes.length === 0 ? words.same : words.restoreBody(time)}
      {changes.length > 0 && <DiffView changes={changes} isPlain />}
      {notes.map((note) => (
        <div key={note}>
          <Warning>{note}</Warning>
        </div>
      ))}
    </Stack>
  );
}
