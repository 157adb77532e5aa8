/** The details of an event in the drawer: its subject, its changes, its payload. */
import { Skeleton } from "@mantine/core";
import type { EventEntry } from "@socle/protocol";
import { IconDatabase } from "@tabler/icons-react";
import { queryOptions, useQuery } from "@tanstack/react-query";
import {
  CodeBlock,
  DetailsSection,
  DiffView,
  Dim,
  differencesOf,
  ErrorState,
  Fact,
  Facts,
  type FieldChange,
  formatDateTime,
  jsonText,
  LinkAction,
  UserLink,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { historyOf } from "../../service/record-history.ts";
import { text } from "../../texts/index.ts";
import { collectionOf } from "./event-list.ts";
import { aboutUser, changeOf } from "./user-events.ts";

/** Events of the collection to search for the event before. */
const lookBack = 1_000;

/** The changes of an update, compared with the event before, if that event is found. */
function changesQuery(event: EventEntry, collection: string) {
  return queryOptions({
    queryKey: ["events", "changes", event.id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async (): Promise<readonly FieldChange[] | null> => {
      const { items } = await client.admin.events({
        type: `${collection}.created,${collection}.updated,${collection}.deleted`,
        to: event.timestamp,
        limit: lookBack,
      });
      const ofRecord = items.filter(({ id, payload }) => payload["id"] === event.payload["id"] && id <= event.id);
      const entry = historyOf(ofRecord).find((each) => each.event.id === event.id);
      return entry?.isComplete === true ? entry.changes : null;
    },
  });
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function EventDetails({ event }: { event: EventEntry }) {
  const collection = collectionOf(event);
  const record = event.payload["id"];
  const user = aboutUser(event);
  const change = changeOf(event);
  return (
    <>
      <DetailsSection title={text.events.about}>
        <Facts>
          <Fact name={text.events.type} value={event.type} isMono />
          <Fact name={text.events.time} value={formatDateTime(event.timestamp)} />
          <Fact name={text.events.exactTime} value={event.timestamp} isMono />
          <Fact name={text.events.actor} value={<UserLink id={event.actor} nobody={text.events.nobody} />} />
          <Fact name={text.events.user} value={user && <UserLink id={user} nobody="" />} />
          <Fact name={text.events.change} value={change === "" ? null : change} />
          <Fact name={text.events.source} value={event.source} />
          <Fact name={text.events.id} value={event.id} isMono copy={text.events.copyId} />
        </Facts>
        {collection !== null && typeof record === "string" && !event.type.endsWith(".deleted") && (
          <LinkAction
            icon={IconDatabase}
            label={text.events.openRecord}
            to="/collections/$name"
            params={{ name: collection }}
            search={{ record }}
            mt="sm"
          />
        )}
      </DetailsSection>
      <Changes event={event} collection={collection} />
      <DetailsSection title={text.events.payload}>
        {event.partial === true && <Dim mb={6}>{text.events.partial}</Dim>}
        <CodeBlock value={jsonText(event.payload)} label={text.events.payload} />
      </DetailsSection>
    </>
  );
}

function Changes({ event, collection }: { event: EventEntry; collection: string | null }) {
  const { before, after } = event.payload;
  if (event.source === "admin" && (before !== undefined || after !== undefined)) {
    const changes = differencesOf(isObject(before) ? before : null, isObject(after) ? after : null);
    if (changes.length === 0) return null;
    return (
      <DetailsSection title={text.events.changes}>
        <DiffView changes={changes} />
      </DetailsSection>
    );
  }
  if (collection === null || !event.type.endsWith(".updated")) return null;
  return (
    <DetailsSection title={text.events.changes}>
      <RecordChanges event={event} collection={collection} />
    </DetailsSection>
  );
}

function RecordChanges({ event, collection }: { event: EventEntry; collection: string }) {
  const { data, error, refetch } = useQuery(changesQuery(event, collection));
  if (data === undefined && error !== null) return <ErrorState error={error} onRetry={refetch} />;
  if (data === undefined) return <Skeleton height={40} />;
  if (data === null) return <Dim size="sm">{text.events.noEarlier(lookBack)}</Dim>;
  return <DiffView changes={data} />;
}
