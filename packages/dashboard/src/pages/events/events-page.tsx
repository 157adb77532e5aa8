/** The live event log (`/_/events`): filters by type, user and time, and a drawer for an event and its changes. */
import { Group, TagsInput } from "@mantine/core";
import { DateTimePicker } from "@mantine/dates";
import type { EventEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { IconActivity, IconDatabase, IconShieldCheck, IconTimeline } from "../../icons/index.ts";
import {
  CauseText,
  Choice,
  CodeBlock,
  Complaint,
  DetailsDrawer,
  DetailsSection,
  DiffView,
  Dim,
  differencesOf,
  EmptyState,
  Fact,
  Facts,
  FilledPage,
  formatClock,
  formatDateTime,
  isObject,
  jsonText,
  LinkAction,
  LiveList,
  NothingFound,
  QueryView,
  recordChanges,
  TailMark,
  Toolbar,
  UndoAction,
  UndoCause,
  UserLink,
  UserName,
  UserSelect,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { EventSearch } from "../search.ts";
import { collectionOf, subjectOf } from "./event-list.ts";
import classes from "./events.module.css";
import { eventQuery, useArrivals, useEvents } from "./use-events.ts";
import { aboutUser, changeOf } from "./user-events.ts";
import "@mantine/dates/styles.css";
import { useState } from "react";
import { collectionsQuery } from "../../service/queries.ts";
import { isKnownType, typesOf } from "./event-types.ts";

const route = getRouteApi("/inside/events");

/** The changes of admins, their statements of SQL, and the failed sign-ins: as in the export of the audit. */
const auditTypes = "admin.*,auth.failed,auth.locked";

const noFilter = { type: undefined, actor: undefined, about: undefined, from: undefined, to: undefined };

export function EventsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const arrivals = useArrivals();
  const events = useEvents(search, arrivals.add);
  const filter = (patch: EventSearch): void =>
    void navigate({ search: (old) => ({ ...old, ...patch, event: undefined }), replace: true });
  const open = (event: string | undefined): void => void navigate({ search: (old) => ({ ...old, event }) });
  const { list = [] } = events;
  const filters = [search.type, search.actor, search.about, search.from, search.to];
  const isFiltered = filters.some((value) => value !== undefined);
  return (
    <FilledPage
      title={text.events.title}
      note={<TailMark state={events.state} />}
      actions={
        <>
          <Dim className="numbers">{events.list !== undefined && text.events.shown(list.length, events.total)}</Dim>
          <LinkAction icon={IconShieldCheck} label={text.events.audit} to="/events" search={{ type: auditTypes }} />
        </>
      }
    >
      <Toolbar label={text.events.filters}>
        <EventFilters search={search} onChange={filter} />
      </Toolbar>
      <LiveList
        key={filters.join(" ")}
        label={text.events.title}
        rows={events.list}
        rowKey={({ id }) => id}
        rowHeight={32}
        error={events.error}
        onRetry={events.retry}
        columns={[text.events.time, text.events.type, text.events.subject, text.events.actor]}
        lineClass={classes["line"]}
        // Without a filter, the words would never end.
        told={isFiltered && arrivals.told > 0 && text.events.came(arrivals.told)}
        render={(event) => <EventRow event={event} />}
        onOpen={({ id }) => open(id)}
        openKey={search.event}
        isNew={({ id }) => arrivals.ids.has(id)}
        onEnd={events.hasOlder ? events.loadOlder : undefined}
        empty={
          isFiltered ? (
            <NothingFound icon={IconActivity} words={text.events} onClear={() => filter(noFilter)} />
          ) : (
            <EmptyState icon={IconActivity} title={text.events.empty} body={text.events.emptyBody} />
          )
        }
      />
      <DetailsDrawer
        isOpen={search.event !== undefined}
        onClose={() => open(undefined)}
        title={list.find(({ id }) => id === search.event)?.type ?? text.events.one}
        size={640}
      >
        {search.event !== undefined && <OpenEvent key={search.event} id={search.event} list={list} />}
      </DetailsDrawer>
    </FilledPage>
  );
}

/** The event that the address names: from the list, or read by the time in its id. */
function OpenEvent({ id, list }: { id: string; list: readonly EventEntry[] }) {
  const listed = list.find((event) => event.id === id);
  const query = useQuery({ ...eventQuery(id), enabled: listed === undefined });
  if (listed !== undefined) return <EventDetails event={listed} />;
  return (
    <QueryView query={query}>
      {(event) =>
        event === null ? <EmptyState icon={IconActivity} title={text.events.gone} /> : <EventDetails event={event} />
      }
    </QueryView>
  );
}

function EventRow({ event }: { event: EventEntry }) {
  const { timestamp, type, actor } = event;
  const isToday = new Date(timestamp).toDateString() === new Date().toDateString();
  const user = aboutUser(event);
  const change = changeOf(event);
  return (
    <>
      <time className={`numbers quiet ${classes["right"]}`} dateTime={timestamp}>
        {isToday ? formatClock(timestamp) : formatDateTime(timestamp)}
      </time>
      <span className={classes["type"]}>{type}</span>
      <span className={`quiet ${classes["subject"]}`}>
        {user === null ? subjectOf(event) : <UserName id={user} nobody="" />}
        {change !== "" && ` · ${change}`}
      </span>
      <span className={`quiet ${classes["right"]}`}>
        <UserName id={actor} nobody={text.events.nobody} />
      </span>
    </>
  );
}

function EventDetails({ event }: { event: EventEntry }) {
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
          <Fact
            name={text.history.cause}
            value={event.cause === undefined ? null : <CauseText cause={event.cause} />}
          />
          <Fact name={text.events.source} value={event.source} />
          <Fact name={text.events.id} value={event.id} isMono copy={text.events.copyId} />
        </Facts>
        <Group gap="xs" mt="sm">
          <LinkAction icon={IconTimeline} label={text.trace.open} to="/trace/$id" params={{ id: event.id }} />
          {collection !== null && typeof record === "string" && (
            <>
              <LinkAction
                icon={IconDatabase}
                label={event.type.endsWith(".deleted") ? text.events.openHistory : text.events.openRecord}
                to="/collections/$name"
                params={{ name: collection }}
                search={{ record }}
              />
              <UndoAction label={text.undo.change} selection={{ events: [event.seq] }} />
              {event.cause !== undefined && <UndoCause cause={event.cause} />}
            </>
          )}
        </Group>
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
  // The payload of a creation has all values.
  if (collection === null || event.type.endsWith(".created")) return null;
  const type = event.type.endsWith(".updated") ? "updated" : "deleted";
  return (
    <DetailsSection title={text.events.changes}>
      {event.changes === undefined ? (
        <Dim size="sm">{text.events.noValuesBefore}</Dim>
      ) : (
        <DiffView changes={recordChanges({ type, changes: event.changes })} />
      )}
    </DetailsSection>
  );
}

/** Most types in a request. */
const maxTypes = 20;
const hourMs = 3_600_000;

const presets = {
  hour: () => new Date(Date.now() - hourMs),
  today: () => new Date(new Date().setHours(0, 0, 0, 0)),
  week: () => new Date(Date.now() - 7 * 24 * hourMs),
  any: () => undefined,
} as const;
type Preset = keyof typeof presets;

const users = [
  ["actor", text.events.actor, text.events.anyActor],
  ["about", text.events.aboutUser, text.events.anyAbout],
] as const;

interface FilterProps {
  search: EventSearch;
  onChange: (patch: EventSearch) => void;
}

function EventFilters({ search, onChange }: FilterProps) {
  return (
    <>
      <TypeFilter search={search} onChange={onChange} />
      {users.map(([name, label, anyLabel]) => (
        <UserSelect
          key={name}
          {...{ label, anyLabel }}
          value={search[name]}
          onChange={(id) => onChange({ [name]: id })}
        />
      ))}
      <TimeFilter search={search} onChange={onChange} />
    </>
  );
}

function TypeFilter({ search, onChange }: FilterProps) {
  const { data: collections = [] } = useQuery(collectionsQuery);
  const [refused, setRefused] = useState<string | null>(null);
  const change = (types: string[]): void => {
    setRefused(types.find((type) => !isKnownType(type)) ?? null);
    const known = types.filter(isKnownType).slice(0, maxTypes);
    onChange({ type: known.length === 0 ? undefined : known.join(",") });
  };
  return (
    <>
      <TagsInput
        size="xs"
        miw={160}
        maw={460}
        flex={1}
        aria-label={text.events.types}
        placeholder={search.type === undefined ? text.events.types : ""}
        data={typesOf(collections.map(({ name }) => name))}
        value={search.type?.split(",") ?? []}
        onChange={change}
        error={refused !== null}
        onSearchChange={() => setRefused(null)}
        maxTags={maxTypes}
        limit={40}
        splitChars={[",", " "]}
        clearable
        clearButtonProps={{ "aria-label": text.events.anyType }}
      />
      {refused !== null && <Complaint size="xs">{text.events.noType(refused)}</Complaint>}
    </>
  );
}

/** The start is a preset or a picked time; the end is now or a picked time. */
function TimeFilter({ search, onChange }: FilterProps) {
  const preset = (value: Preset): void => onChange({ from: presets[value]()?.toISOString(), to: undefined });
  const picked = (value: string | null): string | undefined =>
    value === null ? undefined : new Date(value.replace(" ", "T")).toISOString();
  return (
    <>
      <Choice
        w={120}
        aria-label={text.events.time}
        placeholder={search.from === undefined && search.to === undefined ? text.events.since.any : text.events.picked}
        words={text.events.since}
        value={null}
        onChange={preset}
      />
      {(["from", "to"] as const).map((end) => (
        <DateTimePicker
          key={end}
          size="xs"
          w={150}
          withSeconds
          highlightToday
          clearable
          aria-label={text.events[end]}
          placeholder={text.events[end]}
          value={search[end] === undefined ? null : new Date(search[end])}
          onChange={(value) => onChange({ [end]: picked(value) })}
        />
      ))}
    </>
  );
}
