/** The newest events of a record, each with its changes. */
import { Badge, Group, Stack, Text } from "@mantine/core";
import type { EventEntry, StoredRecord } from "@socle/protocol";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import {
  Action,
  DiffView,
  Dim,
  ErrorState,
  formatDateTime,
  nameOfUser,
  RelativeTime,
  RowsSkeleton,
} from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { userQuery } from "../../../service/queries.ts";
import { type HistoryEntry, historyOf } from "../../../service/record-history.ts";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";

const shownEvents = 50;
const pageSize = 100;
/** Pages of the log that a single click reads. */
const pagesALook = 5;

interface Look {
  readonly found: readonly EventEntry[];
  readonly looked: number;
  readonly oldest: string | null;
  readonly nextOffset: number | null;
}

/** The log has no search by record: the page reads the collection's events between the record's first and last change. */
async function look(collection: string, record: StoredRecord, start: { offset: number; until: string }): Promise<Look> {
  const type = ["created", "updated", "deleted"].map((kind) => `${collection}.${kind}`).join(",");
  const found: EventEntry[] = [];
  let offset = start.offset;
  let looked = 0;
  let oldest: string | null = null;
  for (let page = 0; page < pagesALook; page += 1) {
    const query = { type, from: record.createdAt, to: start.until, limit: pageSize, offset };
    const { items } = await client.admin.events(query);
    looked += items.length;
    offset += items.length;
    oldest = items.at(-1)?.timestamp ?? oldest;
    found.push(...items.filter(({ payload }) => payload["id"] === record.id));
    const isOver = items.length < pageSize || found.some((event) => event.type.endsWith(".created"));
    if (isOver) return { found, looked, oldest, nextOffset: null };
    if (found.length >= shownEvents) break;
  }
  return { found, looked, oldest, nextOffset: offset };
}

export function EventsTab({ collection, record }: { collection: string; record: StoredRecord }) {
  const query = useInfiniteQuery({
    queryKey: ["records", collection, "events", record.id, record.updatedAt],
    // The event is a moment later than the record's `updatedAt`.
    initialPageParam: { offset: 0, until: new Date(Date.parse(record.updatedAt) + 2_000).toISOString() },
    queryFn: ({ pageParam }) => look(collection, record, pageParam),
    getNextPageParam: ({ nextOffset }, _pages, { until }) =>
      nextOffset === null ? undefined : { offset: nextOffset, until },
    staleTime: 30_000,
  });
  const pages = query.data?.pages;
  const events = useMemo(() => (pages ?? []).flatMap(({ found }) => found), [pages]);
  const entries = useMemo(() => historyOf(events).slice(0, shownEvents), [events]);
  if (pages === undefined) {
    return query.isError ? (
      <ErrorState error={query.error} onRetry={query.refetch} />
    ) : (
      <RowsSkeleton rows={4} height={56} />
    );
  }
  const looked = pages.reduce((sum, page) => sum + page.looked, 0);
  const oldest = pages.at(-1)?.oldest ?? null;
  const lookFurther = (): void => void query.fetchNextPage();
  const isCreationFound = events.some(({ type }) => type.endsWith(".created"));
  return (
    <Stack gap="sm">
      {entries.length === 0 && <Text size="sm">{text.editor.eventsNone}</Text>}
      <ol className="plain">
        {entries.map((entry) => (
          <HistoryItem key={entry.event.id} entry={entry} />
        ))}
      </ol>
      {query.isError && <ErrorState error={query.error} onRetry={lookFurther} />}
      <Group justify="space-between" gap="xs">
        <Dim>
          {text.editor.eventsSearched(looked)}
          {query.hasNextPage && oldest !== null ? (
            <>
              , {text.editor.eventsBackTo} {formatDateTime(oldest)}
            </>
          ) : (
            `, ${isCreationFound ? text.editor.eventsAll : text.editor.eventsEnd}`
          )}
          . {events.length > shownEvents && text.editor.eventsFull}
        </Dim>
        {query.hasNextPage && events.length < shownEvents && (
          <Action label={text.editor.eventsMore} size="compact-sm" loading={query.isFetching} onClick={lookFurther} />
        )}
      </Group>
    </Stack>
  );
}

const colors = { created: "green", updated: "blue", deleted: "red" } as const;

function HistoryItem({ entry: { event, kind, changes, isComplete } }: { entry: HistoryEntry }) {
  return (
    <li className={classes["event"]}>
      <Group gap="xs" fz="sm" mb={changes.length > 0 ? 6 : 0}>
        <Badge size="sm" variant="default" color={colors[kind]} tt="none">
          {text.editor.eventKinds[kind]}
        </Badge>
        <RelativeTime at={event.timestamp} />
        <Text size="sm" c="dimmed" component="span">
          <Actor id={event.actor} />
        </Text>
      </Group>
      {kind === "updated" && changes.length === 0 && (
        <Dim>{isComplete ? text.editor.noFieldChanged : text.editor.beforeUnknown}</Dim>
      )}
      {changes.length > 0 && <DiffView changes={changes} isPlain />}
    </li>
  );
}

function Actor({ id }: { id: string | null }) {
  const query = useQuery({ ...userQuery(id ?? ""), enabled: id !== null, retry: false });
  if (id === null) return text.editor.byNobody;
  return (
    <>
      {text.editor.by} {query.data === undefined ? id : nameOfUser(query.data)}
    </>
  );
}
