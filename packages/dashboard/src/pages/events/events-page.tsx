/** The live event log (`/_/events`): filters by type, user and time, and a drawer for an event and its changes. */
import { Alert, Button, Group, Text, VisuallyHidden } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { EventEntry } from "@socle/protocol";
import { IconActivity, IconAlertTriangle, IconArrowUp } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  DetailsDrawer,
  Dim,
  EmptyState,
  ErrorState,
  FilledPage,
  formatNumber,
  LiveRows,
  messageOf,
  QueryView,
  RowsSkeleton,
  TailMark,
  Toolbar,
  useShortcut,
} from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { EventDetails } from "./event-details.tsx";
import { EventFilters } from "./event-filters.tsx";
import { eventQuery } from "./event-query.ts";
import { EventHead, EventRow } from "./event-row.tsx";
import classes from "./events.module.css";
import type { EventSearch } from "./search.ts";
import { useArrivals } from "./use-arrivals.ts";
import { useEvents } from "./use-events.ts";

const route = getRouteApi("/inside/events");

export function EventsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const arrivals = useArrivals();
  const events = useEvents(search, arrivals.add);
  const [isAtStart, setAtStart] = useState(true);
  /** The newest event at the time when the user left the start of the list. */
  const [seen, setSeen] = useState("");
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const filter = (patch: EventSearch): void => {
    setAtStart(true);
    void navigate({ search: (old) => ({ ...old, ...patch, event: undefined }), replace: true });
  };
  const clearFilters = (): void =>
    filter({ type: undefined, actor: undefined, about: undefined, from: undefined, to: undefined });
  const open = (event: string | undefined): void => void navigate({ search: (old) => ({ ...old, event }) });
  const onEdge = (isThere: boolean): void => {
    setAtStart(isThere);
    if (!isThere) setSeen(events.list?.[0]?.id ?? "");
  };
  const { list = [], error } = events;
  const fresh = isAtStart ? 0 : list.filter(({ id }) => id > seen).length;
  const isFiltered = [search.type, search.actor, search.about, search.from, search.to].some(
    (value) => value !== undefined,
  );
  useShortcut({ keys: "e", label: text.events.toNewest, group: text.shortcuts.page }, () => setAtStart(true));

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
      {error !== null && events.list !== undefined && (
        <Alert color="yellow" variant="light" radius={0} py={8} icon={<IconAlertTriangle aria-hidden />} role="alert">
          <Group justify="space-between" gap="xs">
            <Text size="sm">{messageOf(error)}</Text>
            <Button size="compact-xs" variant="default" onClick={events.retry}>
              {text.common.retry}
            </Button>
          </Group>
        </Alert>
      )}
      {/* Without a filter they would talk all the time. */}
      <VisuallyHidden role="status">
        {isFiltered && isAtStart && arrivals.told > 0 && text.events.came(arrivals.told)}
      </VisuallyHidden>
      {events.list === undefined && error === null && <RowsSkeleton rows={14} height={20} />}
      {events.list === undefined && error !== null && <ErrorState error={error} onRetry={events.retry} />}
      {events.list !== undefined && list.length === 0 && (
        <EmptyState
          icon={IconActivity}
          title={isFiltered ? text.events.nothingFound : text.events.empty}
          body={isFiltered ? text.events.nothingFoundBody : text.events.emptyBody}
        >
          {isFiltered && (
            <Button variant="default" size="xs" onClick={clearFilters}>
              {text.table.clearFilters}
            </Button>
          )}
        </EmptyState>
      )}
      {list.length > 0 && (
        <div className={classes["view"]}>
          <EventHead />
          <LiveRows
            label={text.events.title}
            rows={list}
            rowKey={({ id }) => id}
            rowHeight={isNarrow ? 52 : 32}
            edge="start"
            isAtEdge={isAtStart}
            onEdge={onEdge}
            render={(event) => <EventRow event={event} />}
            onOpen={({ id }) => open(id)}
            openKey={search.event}
            isNew={({ id }) => arrivals.ids.has(id)}
            onOtherEnd={events.hasOlder ? events.loadOlder : undefined}
          />
          {!isAtStart && (
            <Button
              className={classes["jump"]}
              size="xs"
              radius="xl"
              leftSection={<IconArrowUp size={14} />}
              onClick={() => setAtStart(true)}
            >
              {fresh === 0 ? text.events.toNewest : text.events.fresh(formatNumber(fresh))}
            </Button>
          )}
        </div>
      )}
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
