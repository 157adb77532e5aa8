/** The details of an event in the drawer: its subject, its changes, its payload. */
import { Group, Skeleton } from "@mantine/core";
import type { EventEntry } from "@socle/protocol";
import { IconDatabase } from "@tabler/icons-react";
import { queryOptions, useQuery } from "@tanstack/react-query";
import {
  ButtonLink,
  CodeBlock,
  CopyAction,
  DetailsSection,
  DiffView,
  Dim,
  differencesOf,
  ErrorState,
  Facts,
  type FieldChange,
  formatDateTime,
  jsonText,
  TextLink,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { historyOf } from "../../service/record-history.ts";
import { text } from "../../texts/index.ts";
import { Actor } from "./actor.tsx";
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
        <Facts
          items={[
            [
              text.events.type,
              <span key="type" className="mono">
                {event.type}
              </span>,
            ],
            [text.events.time, formatDateTime(event.timestamp)],
            [
              text.events.exactTime,
              <span key="exact" className="mono">
                {event.timestamp}
              </span>,
            ],
            [
              text.events.actor,
              event.actor === null ? (
                text.events.nobody
              ) : (
                <TextLink to="/users" search={{ user: event.actor ?? undefined }} key="actor" underline="always">
                  <Actor id={event.actor} />
                </TextLink>
              ),
            ],
            [
              text.events.user,
              user === null ? null : (
                <TextLink to="/users" search={{ user }} key="user" underline="always">
                  <Actor id={user} />
                </TextLink>
              ),
            ],
            [text.events.change, change === "" ? null : change],
            [text.events.source, event.source],
            [
              text.events.id,
              <Group key="id" gap={4} wrap="nowrap">
                <span className="mono">{event.id}</span>
                <CopyAction value={event.id} label={text.events.copyId} />
              </Group>,
            ],
          ]}
        />
        {collection !== null && typeof record === "string" && !event.type.endsWith(".deleted") && (
          <ButtonLink
            to="/collections/$name"
            params={{ name: collection }}
            search={{ record }}
            mt="sm"
            size="xs"
            variant="default"
            leftSection={<IconDatabase size={14} />}
          >
            {text.events.openRecord}
          </ButtonLink>
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
