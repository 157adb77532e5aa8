/** One event in the drawer: what it is about, what it changed, its payload. */
import { Anchor, Button, Group, Skeleton, Text } from "@mantine/core";
import type { EventEntry } from "@socle/protocol";
import { IconDatabase } from "@tabler/icons-react";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  CodeBlock,
  CopyAction,
  DetailsSection,
  DiffView,
  differencesOf,
  ErrorState,
  Facts,
  type FieldChange,
  formatDateTime,
  jsonText,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { historyOf } from "../../service/record-history.ts";
import { text } from "../../texts/index.ts";
import { Actor } from "./actor.tsx";
import { collectionOf } from "./event-list.ts";
import { aboutUser, changeOf } from "./user-events.ts";

/** Events of the collection that are looked through for the one before. */
const lookBack = 1_000;

/** The changes of an update, against the event before it if that is found. */
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
                <Anchor
                  key="actor"
                  renderRoot={(props) => <Link to="/users" search={{ user: event.actor ?? undefined }} {...props} />}
                  size="sm"
                  underline="always"
                >
                  <Actor id={event.actor} />
                </Anchor>
              ),
            ],
            [
              text.events.user,
              user === null ? null : (
                <Anchor
                  key="user"
                  renderRoot={(props) => <Link to="/users" search={{ user }} {...props} />}
                  size="sm"
                  underline="always"
                >
                  <Actor id={user} />
                </Anchor>
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
          <Button
            mt="sm"
            size="xs"
            variant="default"
            leftSection={<IconDatabase size={14} />}
            renderRoot={(props) => (
              <Link to="/collections/$name" params={{ name: collection }} search={{ record }} {...props} />
            )}
          >
            {text.events.openRecord}
          </Button>
        )}
      </DetailsSection>
      <Changes event={event} collection={collection} />
      <DetailsSection title={text.events.payload}>
        {event.partial === true && (
          <Text size="xs" c="dimmed" mb={6}>
            {text.events.partial}
          </Text>
        )}
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
  if (data === null)
    return (
      <Text size="sm" c="dimmed">
        {text.events.noEarlier(lookBack)}
      </Text>
    );
  return <DiffView changes={data} />;
}
