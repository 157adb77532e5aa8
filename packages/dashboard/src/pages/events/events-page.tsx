/** The live event log (`/_/events`): filters by type, user and time, and a drawer for an event and its changes. */
import type { EventEntry } from "@socle/protocol";
import { IconActivity } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import {
  DetailsDrawer,
  Dim,
  EmptyState,
  FilledPage,
  formatClock,
  formatDateTime,
  LiveList,
  NothingFound,
  QueryView,
  TailMark,
  Toolbar,
  UserName,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { EventDetails } from "./event-details.tsx";
import { EventFilters } from "./event-filters.tsx";
import { subjectOf } from "./event-list.ts";
import classes from "./events.module.css";
import type { EventSearch } from "./search.ts";
import { eventQuery, useArrivals, useEvents } from "./use-events.ts";
import { aboutUser, changeOf } from "./user-events.ts";

const route = getRouteApi("/inside/events");

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
        <Dim className="numbers">{events.list !== undefined && text.events.shown(list.length, events.total)}</Dim>
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
